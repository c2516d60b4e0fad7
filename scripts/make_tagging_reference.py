#!/usr/bin/env python3
"""Writes tests/reference/tagging/: results of public libraries for token classification and attention.

    pip install torch==2.13.0 transformers==5.23.0 seqeval safetensors
    python3 scripts/make_tagging_reference.py

scores.json has random tags with seqeval's metrics, words.json the ids and word indices of pre-split words, and
NAME.safetensors the attention weights of models of tests/reference/models.
"""
import json
import os
import pathlib
import random
import warnings

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"

import torch
import transformers
from safetensors.torch import load_file, save_file
from seqeval.metrics import accuracy_score, classification_report, f1_score, precision_score, recall_score
from sklearn.metrics import precision_recall_fscore_support

REFERENCE = pathlib.Path(__file__).resolve().parent.parent / "tests/reference"
TARGET = REFERENCE / "tagging"
SCHEMES = {"iob": "BI", "iobes": "BIES", "inside": "I"}
MODELS = ["bert-sequence", "bert-token", "roberta-pre-norm", "distilbert-sequence", "electra-token", "xlm-roberta-model",
          "modernbert-sequence", "modernbert-token"]
WORDS = [
    ["Ada", "Lovelace", "wrote", "to", "Charles", "Babbage", "."], ["U.S.", "don't", "3.14", "e-mail", "(", "A/B", ")"],
    ["naïve", "Straße", "ΣΊΣΥΦΟΣ", "日本語", "İstanbul", "क्षत्र", "😀😀"], ["supercalifragilistic", "a" * 101, "x"],
    ["the", "weaver's", "loom", "—", "“warp”", "…"], ["two words", "tab\there", " led", "trail "], ["[MASK]", "<mask>", "##ing", "▁a", "Ġb"],
    ["\u200b", "a", "\u00ad", "b"],
]


def scores_case(rng, marks, sentences, skill):
    labels = ["O"] + [f"{mark}-{kind}" for kind in ("LOC", "ORG", "PER-X") for mark in marks]
    wanted = [[rng.choice(labels) for _ in range(rng.randrange(1, 12))] for _ in range(sentences)]
    found = [[tag if rng.random() < skill else rng.choice(labels) for tag in sentence] for sentence in wanted]
    report = classification_report(wanted, found, output_dict=True, zero_division=0)
    return {"labels": labels, "wanted": wanted, "found": found, "accuracy": accuracy_score(wanted, found),
            "precision": precision_score(wanted, found, zero_division=0), "recall": recall_score(wanted, found, zero_division=0),
            "f1": f1_score(wanted, found, zero_division=0),
            "types": {kind: [float(row[name]) for name in ("precision", "recall", "f1-score", "support")]
                      for kind, row in report.items() if " avg" not in kind}}


def plain_case(rng):
    labels = ["ADJ", "NOUN", "PUNCT", "VERB"]
    wanted = [[rng.choice(labels[:3]) for _ in range(rng.randrange(1, 9))] for _ in range(20)]
    found = [[tag if rng.random() < 0.6 else rng.choice(labels[:3]) for tag in sentence] for sentence in wanted]
    flat = [sum(tags, []) for tags in (wanted, found)]
    precision, recall, f1, _ = precision_recall_fscore_support(*flat, average="macro", zero_division=0)
    return {"labels": labels, "wanted": wanted, "found": found, "accuracy": accuracy_score(wanted, found), "precision": precision,
            "recall": recall, "f1": f1, "types": {}}


def words_of(name):
    folder = REFERENCE / "tokenizers" / name
    given = {"add_prefix_space": True} if name in ("roberta", "gpt2") else {}
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **given)
    made = [tokenizer(words, is_split_into_words=True) for words in WORDS]
    return [{"ids": one["input_ids"], "words": [-1 if word is None else word for word in one.word_ids()]} for one in made]


def attention_of(name):
    folder = REFERENCE / "models" / name
    architecture = json.loads((folder / "config.json").read_text())["architectures"][0]
    model = getattr(transformers, architecture).from_pretrained(folder, attn_implementation="eager").eval()
    inputs = {key: value for key, value in load_file(folder / "inputs.safetensors").items()
              if key in ("input_ids", "attention_mask", "token_type_ids")}
    with torch.no_grad():
        attentions = model(**inputs, output_attentions=True).attentions
    save_file({f"layer.{layer}": weights.contiguous() for layer, weights in enumerate(attentions)}, TARGET / f"{name}.safetensors")


def main():
    warnings.simplefilter("ignore")
    TARGET.mkdir(parents=True, exist_ok=True)
    rng = random.Random(1)
    cases = [scores_case(rng, marks, 30, skill) for marks in SCHEMES.values() for skill in (0.2, 0.8)]
    cases += [scores_case(rng, "BI", 3, 1.0), plain_case(rng)]
    (TARGET / "scores.json").write_text(json.dumps(cases) + "\n")
    kinds = ["bert_uncased", "bert_cased", "roberta", "gpt2", "unigram", "t5"]
    (TARGET / "words.json").write_text(json.dumps({"words": WORDS, "tokenizers": {name: words_of(name) for name in kinds}}) + "\n")
    for name in MODELS:
        attention_of(name)


if __name__ == "__main__":
    main()
