"""Tokenised texts that the peers read: made once, by `tokenizers` from the tokenizer that Weft has too, then mapped into memory."""
import json, pathlib, random

import numpy
import torch


def read_texts(paths, labelled):
    """Lines that are not empty; of a table, the columns text and label."""
    texts, labels = [], []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            lines = file.read().split("\n")
        if not labelled:
            texts += [line.strip() for line in lines if line.strip()]
            continue
        header = lines[0].split("\t")
        text, label = header.index("text"), header.index("label")
        for line in lines[1:]:
            cells = line.split("\t")
            if len(cells) == len(header):
                texts.append(cells[text])
                labels.append(cells[label])
    return texts, labels


def prepare(folder, tokenizer_file, paths, labelled, length):
    """Writes ids.npy (all tokens), ends.npy, labels.npy and about.json."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(tokenizer_file))
    tokenizer.no_padding()
    tokenizer.enable_truncation(length)
    texts, labels = read_texts(paths, labelled)
    rows = [encoding.ids for encoding in tokenizer.encode_batch(texts)]
    names = sorted(set(labels))
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    numpy.save(folder / "ids.npy", numpy.array([token for row in rows for token in row], dtype=numpy.int32))
    numpy.save(folder / "ends.npy", numpy.cumsum([len(row) for row in rows], dtype=numpy.int64))
    numpy.save(folder / "labels.npy", numpy.array([names.index(label) for label in labels], dtype=numpy.int64))
    special = [token for token in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]") if tokenizer.token_to_id(token) is not None]
    about = dict(vocabulary=tokenizer.get_vocab_size(), classes=names, special=[tokenizer.token_to_id(token) for token in special],
                 mask=tokenizer.token_to_id("[MASK]"), pad=tokenizer.token_to_id("[PAD]"), sequences=len(rows), tokens=sum(map(len, rows)))
    (folder / "about.json").write_text(json.dumps(about))
    return about


class Corpus:
    def __init__(self, folder):
        folder = pathlib.Path(folder)
        self.ids = numpy.load(folder / "ids.npy", mmap_mode="r")
        ends = numpy.load(folder / "ends.npy")
        self.begins, self.ends = numpy.concatenate([[0], ends[:-1]]).tolist(), ends.tolist()
        self.labels = torch.from_numpy(numpy.load(folder / "labels.npy"))
        for name, value in json.loads((folder / "about.json").read_text()).items():
            setattr(self, name, value)

    def size(self, row):
        return self.ends[row] - self.begins[row]

    def padded(self, rows):
        """Ids and attention mask, as wide as the longest of the rows."""
        width = max(map(self.size, rows))
        ids, seen = torch.full((len(rows), width), self.pad), torch.zeros(len(rows), width, dtype=torch.long)
        for at, row in enumerate(rows):
            ids[at, : self.size(row)] = torch.from_numpy(self.ids[self.begins[row]:self.ends[row]].astype(numpy.int64))
            seen[at, : self.size(row)] = 1
        return ids, seen

    def groups(self, batch, grouped, seed):
        """Rows of one batch after the other, for ever. Grouped: of like length, found within 50 batches at a time, as the Trainer's
        group_by_length does, then the batches shuffled."""
        draw = random.Random(seed)
        while True:
            order = draw.sample(range(len(self.ends)), len(self.ends))
            if grouped:
                chunk = 50 * batch
                order = [row for at in range(0, len(order), chunk) for row in sorted(order[at:at + chunk], key=self.size)]
            batches = [order[at:at + batch] for at in range(0, len(order) - batch + 1, batch)]
            if grouped:
                draw.shuffle(batches)
            yield from batches
