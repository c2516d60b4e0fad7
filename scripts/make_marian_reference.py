#!/usr/bin/env python3
"""Writes tests/reference/marian/: two tiny directories in the format of Marian models, and the results of MarianTokenizer on difficult texts.

    pip install sentencepiece==0.2.3 transformers==5.23.0
    python3 scripts/make_marian_reference.py

Two SentencePiece models, of the sources on data/corpus, of the targets on the messages of data/spam; `joint/` has one vocabulary of
the pieces of both, in which some are missing, with language codes, `separate/` one for each side. expected.json has, for the lines of
lines.json, the ids of each line as source and as target with what ends it, and the texts of these ids.
"""
import csv
import json
import os
import pathlib
import shutil

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"

import sentencepiece
from transformers import AutoTokenizer, MarianTokenizer

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = ROOT / "tests/reference/marian"
CODES = [">>fra<<", ">>deu<<"]
LINES = [
    "The pan had to soak overnight.", "Call now to claim your free prize!", "", " ", "  two   spaces  ", "tab\there", "café cafe\u0301 ½ ﬁnd",
    "日本語テスト", "straße ß 5%", "zero\u200bwidth nb\u00a0space", "</s> hello</s>there <unk> x<pad>", "▁ piece ▁▁ <s> ##",
    ">>fra<< The soup was good.", ">>deu<<The soup was good.", ">>spa<< no such language", " >>fra<< not at the begin", ">>fra<<", ">>",
    ">> three << words", ">><< none", ">>fra<< >>deu<< twice", "a</s>>>fra<< after an end", "DON'T SHOUT, O'Brien!", "😀😀 x", "nul\0inside\x01",
    "replacement \ufffd", "<0x41> [MASK]",
]


def rules(folder):
    """A few rules for the character map: SentencePiece's own would fill a third of a megabyte."""
    path = folder / "rules.tsv"
    pairs = [("\u00a0", " "), ("\t", " "), ("e\u0301", "é"), ("ﬁ", "fi"), ("½", "1/2"), ("\u200b", "")]
    code = lambda text: " ".join(f"{ord(c):X}" for c in text)
    path.write_text("".join(f"{code(a)}\t{code(b)}\n" for a, b in pairs))
    return path


def train(folder, side, texts, size):
    """SIDE.spm, and its pieces without the three control pieces."""
    path = rules(folder)
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(texts), model_prefix=str(folder / side), vocab_size=size, minloglevel=2,
                                             normalization_rule_tsv=str(path), character_coverage=1.0)
    path.unlink()
    (folder / f"{side}.vocab").unlink()
    (folder / f"{side}.model").rename(folder / f"{side}.spm")
    model = sentencepiece.SentencePieceProcessor(model_file=str(folder / f"{side}.spm"))
    return [model.id_to_piece(i) for i in range(3, model.get_piece_size())]


def vocabulary(pieces):
    """In Marian's order: the end token first, the pad token last. Every ninth piece is omitted."""
    kept = [piece for i, piece in enumerate(dict.fromkeys(pieces)) if i % 9 != 4]
    return {piece: i for i, piece in enumerate(["</s>", "<unk>", *kept, *CODES, "ß", "<pad>"])}


def texts_of(path):
    if path.suffix == ".tsv":
        return [row[-1] for row in csv.reader(path.read_text("utf-8").splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE)][1:]
    return [line for line in path.read_text("utf-8").splitlines() if line]


def write(path, value):
    path.write_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n")


def make(folder, is_joint):
    folder.mkdir()
    sources = train(folder, "source", [line for path in sorted((ROOT / "data/corpus").glob("*.txt")) for line in texts_of(path)], 160)
    targets = train(folder, "target", texts_of(ROOT / "data/spam/train.tsv"), 160)
    if is_joint:
        write(folder / "vocab.json", vocabulary(sources + targets))
    else:  # as long as each other: the pad has one id
        write(folder / "vocab.json", vocabulary(sources))
        write(folder / "target_vocab.json", vocabulary(targets))
    config = {"source_lang": "eng", "target_lang": "fra"}
    write(folder / "tokenizer_config.json", config if is_joint else {**config, "separate_vocabs": True, "tokenizer_class": "MarianTokenizer"})
    write(folder / "config.json", {"model_type": "marian"})


def expected(folder):
    tokenizer = AutoTokenizer.from_pretrained(str(folder))
    assert isinstance(tokenizer, MarianTokenizer)
    found = {"sources": tokenizer(LINES)["input_ids"], "targets": tokenizer(text_target=LINES)["input_ids"],
             "pairs": tokenizer(LINES[:4], LINES[4:8])["input_ids"]}
    for side in ("sources", "targets"):
        is_source = side == "sources"
        if is_source and tokenizer.separate_vocabs:
            continue  # it has no way back from the ids of sources
        for name, skips in (("texts", True), ("whole_texts", False)):
            found[f"{side}_{name}"] = [tokenizer.decode(ids, skip_special_tokens=skips, use_source_tokenizer=is_source) for ids in found[side]]
    return found


def main():
    shutil.rmtree(TARGET, ignore_errors=True)
    TARGET.mkdir(parents=True)
    write(TARGET / "lines.json", LINES)
    for name in ("joint", "separate"):
        make(TARGET / name, name == "joint")
        write(TARGET / name / "expected.json", expected(TARGET / name))


if __name__ == "__main__":
    main()
