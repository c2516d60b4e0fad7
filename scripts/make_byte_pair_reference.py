#!/usr/bin/env python3
"""Writes tests/reference/byte_pair_training.json: results of the BPE trainer of `tokenizers` on small texts.

    pip install tokenizers
    python3 scripts/make_byte_pair_reference.py

Each case has its lines and settings, the pieces in the order of their ids, and the merges. Texts of two or three letters
have many equal counts, and pieces that can be merged in several ways.
"""
import json
import pathlib
import random

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

from make_tokenizer_reference import LINES, TEXT

TARGET = pathlib.Path(__file__).resolve().parent.parent / "tests/reference/byte_pair_training.json"
STYLES = {"roberta": ["<s>", "<pad>", "</s>", "<unk>", "<mask>"], "gpt2": ["<|endoftext|>"],
          "bert": ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]}


def drawn(seed, letters, words):
    draw = random.Random(seed)
    word = lambda: "".join(draw.choice(letters) for _ in range(draw.randint(1, 14)))
    return [" ".join(word() for _ in range(6)) for _ in range(words // 6)]


def case(name, lines, style, size=100_000, min_frequency=2, add_prefix_space=False):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space)
    if style == "bert":
        tokenizer.normalizer = normalizers.NFC()
    tokenizer.train_from_iterator(lines, trainers.BpeTrainer(
        vocab_size=size, min_frequency=min_frequency, special_tokens=STYLES[style],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    model = json.loads(tokenizer.to_str())["model"]
    return {"name": name, "lines": lines, "style": style, "min_frequency": min_frequency, "add_prefix_space": add_prefix_space,
            "pieces": sorted(model["vocab"], key=model["vocab"].get), "merges": [list(merge) for merge in model["merges"]]}


def main():
    cases = [
        case("Plain", TEXT, "roberta", 370),
        case("PrefixSpace", TEXT, "gpt2", 370, add_prefix_space=True),
        case("Composed", LINES, "bert", 420),
        case("AllThereIs", TEXT[:6], "gpt2"),
        case("RarePairs", TEXT[:3], "gpt2", min_frequency=1),
        case("TwoLetters", drawn(1, "ab", 120), "gpt2"),
        case("ThreeLetters", drawn(2, "abc", 240), "roberta"),
        case("OneLetter", ["a" * n for n in range(1, 40)], "gpt2"),
        case("SpecialTokensInText", ["<s> <s>x </s> <mask>" for _ in range(5)], "roberta"),
    ]
    TARGET.write_text(json.dumps(cases, ensure_ascii=False, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
