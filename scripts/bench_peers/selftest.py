#!/usr/bin/env python3
"""Tests of the peers' data and of the plain PyTorch models: python3 scripts/bench_peers/selftest.py, with torch and numpy"""
import pathlib, sys, tempfile, unittest
from unittest import mock

sys.dont_write_bytecode = True
import numpy
import torch

import corpus, encode, plain_pre_norm, plain_translation, tasks

SIZES = dict(dim=8, layers=2, heads=2, width=16, dropout=0.1)


def saved_texts(folder, rows):
    corpus.save(folder, dict(pad=0, rows=len(rows)), ids=numpy.concatenate(rows), ends=numpy.cumsum([len(row) for row in rows]),
                labels=numpy.zeros(len(rows)))


class Data(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def pairs(self):
        saved_texts(self.folder / "source", [[5, 6, 7, 1], [5, 1], [6, 5, 1], [7, 5, 1]])
        saved_texts(self.folder / "target", [[8, 1], [8, 9, 3, 1], [9, 8, 1], [9, 9, 1]])
        corpus.save(self.folder, dict(pad=0, rows=4))
        return corpus.Pairs(self.folder)

    def test_a_row_of_a_stream_guesses_what_follows(self):
        corpus.save(self.folder, dict(length=4, rows=2), ids=numpy.arange(10, 20))
        ids, next_ids = corpus.Stream(self.folder).streamed([1, 0])
        self.assertEqual(ids.tolist(), [[14, 15, 16, 17], [10, 11, 12, 13]])
        self.assertEqual(next_ids.tolist(), [[15, 16, 17, 18], [11, 12, 13, 14]])

    def test_of_pairs_both_sides_count_and_are_padded(self):
        pairs = self.pairs()
        self.assertEqual([pairs.size(row) for row in range(4)], [6, 6, 6, 6])
        self.assertEqual((pairs.cells([0, 1]), pairs.cells([1, 2])), (16, 14))

    def test_a_target_begins_with_padding_and_guesses_none(self):
        batch = tasks.pair_batch(self.pairs(), [0, 3])
        self.assertEqual(batch["decoder_input_ids"].tolist(), [[0, 8, 1], [0, 9, 9]])
        self.assertEqual(batch["labels"].tolist(), [[8, 1, -100], [9, 9, 1]])
        self.assertEqual(batch["attention_mask"].tolist(), [[1, 1, 1, 1], [1, 1, 1, 0]])

    def test_groups_are_of_like_length_and_take_each_row_once(self):
        for seed in range(9):
            groups = self.pairs().groups(2, True, seed)
            self.assertEqual(sorted([sorted(next(groups)), sorted(next(groups))]), [[0, 1], [2, 3]])

    def test_records_of_images_are_a_class_and_three_planes(self):
        records = numpy.zeros((2, 3073), numpy.uint8)
        records[1, 0], records[1, 1 + 1024] = 7, 255   # the first green pixel
        records.tofile(self.folder / "train.bin")
        corpus.Images.prepare(self.folder / "images", "-", [self.folder / "train.bin"], 0)
        batch = tasks.image_batch(corpus.Images(self.folder / "images"), [1])
        self.assertEqual(batch["labels"].tolist(), [7])
        self.assertEqual(batch["pixel_values"][0, :, 0, :2].tolist(), [[-1, -1], [1, -1], [-1, -1]])


class Inference(unittest.TestCase):
    def encoder(self, grouped):
        """Of a text only its length counts."""
        encoder = encode.Encoder.__new__(encode.Encoder)
        encoder.grouped, encoder.tokenizer = grouped, mock.Mock()
        encoder.tokenizer.encode_batch_fast = lambda texts: [mock.Mock(ids=[7] * len(text)) for text in texts]
        return encoder

    def test_batches_are_padded_to_their_longest_text_and_masked(self):
        ids, mask = encode.padded([[5, 6, 7], [8]])
        self.assertEqual((ids.tolist(), mask.tolist()), ([[5, 6, 7], [8, 0, 0]], [[1, 1, 1], [1, 0, 0]]))

    def test_sorted_texts_begin_with_the_longest_and_the_order_is_kept(self):
        texts = ["a" * (1 + at % 5) for at in range(encode.BATCH + 3)]
        order, batches = self.encoder(True).batches(texts)
        self.assertEqual(sorted(order), list(range(len(texts))))
        self.assertEqual([len(texts[at]) for at in order], sorted(map(len, texts), reverse=True))
        self.assertEqual([ids.shape for ids, _ in batches], [(encode.BATCH, 5), (3, 1)])
        self.assertEqual(self.encoder(False).batches(texts)[0], list(range(len(texts))))


class Models(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)

    def test_a_later_token_changes_no_earlier_guess(self):
        model = plain_pre_norm.CausalModel(20, 4, **SIZES).eval()
        guesses = torch.tensor([[3, 4, -100, -100]])
        losses = [model(torch.tensor([[1, 2, *later]]), None, guesses).item() for later in ([5, 6], [7, 8])]
        self.assertEqual(*losses)

    def test_translation_sees_the_source_but_no_padding_and_no_later_token(self):
        model = plain_translation.TranslationModel(20, attention_dropout=0.1, **SIZES).eval()

        def loss(source, seen, target):
            return model(torch.tensor([source]), torch.tensor([seen]), torch.tensor([target]), torch.tensor([[3, 4, -100]])).item()
        whole = loss([5, 6], [1, 1], [0, 3, 4])
        self.assertAlmostEqual(loss([5, 6, 0], [1, 1, 0], [0, 3, 9]), whole, 5)
        self.assertNotAlmostEqual(loss([5, 7], [1, 1], [0, 3, 4]), whole, 5)

    def test_an_image_is_all_its_patches(self):
        model = plain_pre_norm.ImageModel(3, 8, 4, **SIZES).eval()
        image = torch.zeros(1, 3, 8, 8)
        losses = []
        for row, column in ((0, 0), (0, 7), (7, 0), (7, 7)):
            changed = image.clone()
            changed[0, 0, row, column] = 100.0
            losses.append(model(changed, torch.tensor([2])).item())
        self.assertEqual(len(set(losses)), 4)
        self.assertNotIn(model(image, torch.tensor([2])).item(), losses)


if __name__ == "__main__":
    unittest.main()
