"""Data of the peers as rows that form batches: prepared once, then memory-mapped. Texts are tokenized by `tokenizers` with
the same tokenizer as Weft."""
import json, pathlib, random

import numpy
import torch


def tokenizer_of(file):
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(file))
    tokenizer.no_padding()
    return tokenizer


def lines_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read().split("\n")


def save(folder, about, **arrays):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, values in arrays.items():
        numpy.save(folder / f"{name}.npy", values)
    (folder / "about.json").write_text(json.dumps(about))   # last: where it is, all is
    return about


class Rows:
    """What about.json says becomes members. `rows` is how many there are."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        for name, value in json.loads((self.folder / "about.json").read_text()).items():
            setattr(self, name, value)

    def array(self, name):
        return numpy.load(self.folder / f"{name}.npy", mmap_mode="r")

    def size(self, row):
        """What counts of a row: its tokens, or one image."""
        return 1

    def cells(self, rows):
        """The same with the padding of these rows."""
        return len(rows) * max(map(self.size, rows))

    def order(self, row):
        """Sort key that groups rows of similar length."""
        return self.size(row)

    def groups(self, batch, grouped, seed):
        """Rows of one batch after the other, for ever. Grouped: of like length, found within 50 batches at a time, as the Trainer's
        group_by_length does, then the batches shuffled."""
        draw = random.Random(seed)
        while True:
            order = draw.sample(range(self.rows), self.rows)
            if grouped:
                chunk = 50 * batch
                order = [row for at in range(0, len(order), chunk) for row in sorted(order[at:at + chunk], key=self.order)]
            batches = [order[at:at + batch] for at in range(0, len(order) - batch + 1, batch)]
            if grouped:
                draw.shuffle(batches)
            yield from batches


class Texts(Rows):
    """One text per row, truncated to a length."""

    @staticmethod
    def prepare(folder, tokenizer_file, paths, length):
        return Texts.tokenised(folder, tokenizer_file, [line.strip() for path in paths for line in lines_of(path) if line.strip()], length)

    @staticmethod
    def tokenised(folder, tokenizer_file, texts, length, labels=()):
        tokenizer = tokenizer_of(tokenizer_file)
        tokenizer.enable_truncation(length)
        rows = [encoding.ids for encoding in tokenizer.encode_batch(texts)]
        names = sorted(set(labels))
        known = {name: tokenizer.token_to_id(name) for name in ("[PAD]", "<pad>", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "</s>")}
        special = {name: token for name, token in known.items() if token is not None}
        about = dict(vocabulary=tokenizer.get_vocab_size(), classes=names, special=list(special.values()), mask=special.get("[MASK]"),
                     pad=special.get("[PAD]", special.get("<pad>")), end=special.get("</s>"), rows=len(rows), tokens=sum(map(len, rows)))
        return save(folder, about, ids=numpy.array([token for row in rows for token in row], dtype=numpy.int32),
                    ends=numpy.cumsum([len(row) for row in rows], dtype=numpy.int64),
                    labels=numpy.array([names.index(label) for label in labels], dtype=numpy.int64))

    def __init__(self, folder):
        super().__init__(folder)
        ends = self.array("ends")
        self.ids = self.array("ids")
        self.begins, self.ends = numpy.concatenate([[0], ends[:-1]]).tolist(), ends.tolist()
        self.labels = torch.from_numpy(numpy.array(self.array("labels")))

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


class Table(Texts):
    """The column text of tables, and as a number the column label."""

    @staticmethod
    def prepare(folder, tokenizer_file, paths, length):
        texts, labels = [], []
        for path in paths:
            header, *lines = [line.split("\t") for line in lines_of(path)]
            for cells in lines:
                if len(cells) == len(header):
                    texts.append(cells[header.index("text")])
                    labels.append(cells[header.index("label")])
        return Texts.tokenised(folder, tokenizer_file, texts, length, labels)


class Stream(Rows):
    """Whole files as one token stream; each row has `length` inputs and predicts the next tokens."""

    @staticmethod
    def prepare(folder, tokenizer_file, paths, length):
        tokenizer = tokenizer_of(tokenizer_file)
        ids = [token for path in paths for token in tokenizer.encode("\n".join(lines_of(path)), add_special_tokens=False).ids]
        about = dict(vocabulary=tokenizer.get_vocab_size(), end=tokenizer.token_to_id("<|endoftext|>"), length=length,
                     rows=(len(ids) - 1) // length, tokens=len(ids))
        return save(folder, about, ids=numpy.array(ids, dtype=numpy.int32))

    def __init__(self, folder):
        super().__init__(folder)
        self.ids = self.array("ids")

    def size(self, row):
        return self.length

    def streamed(self, rows):
        """Ids and the ids that follow them."""
        both = torch.stack([torch.from_numpy(self.ids[row * self.length:(row + 1) * self.length + 1].astype(numpy.int64)) for row in rows])
        return both[:, :-1].contiguous(), both[:, 1:].contiguous()


class Pairs(Rows):
    """Lines of one file and of the next: in each row a source and a target."""

    @staticmethod
    def prepare(folder, tokenizer_file, paths, length):
        pairs = [pair for at in range(0, len(paths), 2) for pair in zip(lines_of(paths[at]), lines_of(paths[at + 1]))]
        pairs = [pair for pair in pairs if all(text.strip() for text in pair)]
        for at, side in enumerate(("source", "target")):
            about = Texts.tokenised(pathlib.Path(folder) / side, tokenizer_file, [pair[at].strip() for pair in pairs], length)
        return save(folder, {name: about[name] for name in ("vocabulary", "pad", "end", "rows")})

    def __init__(self, folder):
        super().__init__(folder)
        self.source, self.target = Texts(self.folder / "source"), Texts(self.folder / "target")

    def size(self, row):
        return self.source.size(row) + self.target.size(row)

    def order(self, row):
        """By the longer side: of the tested orders it pads least."""
        return max(self.source.size(row), self.target.size(row)), self.size(row)

    def cells(self, rows):
        return self.source.cells(rows) + self.target.cells(rows)


class Images(Rows):
    """CIFAR-10's records: a byte for the class, then the pixels of a plane of red, one of green and one of blue."""
    SIDE = 32

    @staticmethod
    def prepare(folder, tokenizer_file, paths, length):
        side = Images.SIDE
        records = numpy.concatenate([numpy.fromfile(path, dtype=numpy.uint8).reshape(-1, 1 + 3 * side * side) for path in paths])
        about = dict(classes=list(range(int(records[:, 0].max()) + 1)), rows=len(records))
        return save(folder, about, pixels=records[:, 1:].reshape(-1, 3, side, side), labels=records[:, 0].astype(numpy.int64))

    def __init__(self, folder):
        super().__init__(folder)
        self.pixels, self.labels = self.array("pixels"), torch.from_numpy(numpy.array(self.array("labels")))

    def normalised(self, rows):
        """Pixels from -1 to 1."""
        return torch.from_numpy(self.pixels[rows]).float() / 127.5 - 1
