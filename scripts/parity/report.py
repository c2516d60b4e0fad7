#!/usr/bin/env python3
"""Compares the numbers of a page of `weft report` with other libraries: attention weights with transformers (1e-5), ROC, precision-recall and
calibration curves with scikit-learn (1e-9).

    pip install torch transformers scikit-learn
    WEFT=build/weft python3 scripts/parity/report.py RUN --data FILE --positive LABEL

RUN: of a classifier of two classes by a BERT-like encoder; FILE: the evaluation data of the page.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
sys.dont_write_bytecode = True

import numpy
import torch
from sklearn.calibration import calibration_curve
from sklearn.metrics import precision_recall_curve, roc_curve
from transformers import AutoModel, AutoTokenizer

WEFT = os.environ.get("WEFT", "weft")


def data_of(page):
    return json.loads(page.read_text("utf-8").split('id="report-data">')[1].split("</script>")[0])


def figure(page, title):
    return next(found for found in page["figures"].values() if found["title"] == title)


def attention_difference(page, model):
    tokenizer = AutoTokenizer.from_pretrained(model)
    encoder = AutoModel.from_pretrained(model, attn_implementation="eager").eval()
    worst = 0
    for example in figure(page, "Self-attention")["examples"]:
        rows = example["rows"]
        segments = [int(tokenizer.sep_token in rows[:place]) for place in range(len(rows))]  # of a pair
        inputs = {"input_ids": torch.tensor([tokenizer.convert_tokens_to_ids(rows)]), "token_type_ids": torch.tensor([segments])}
        with torch.no_grad():
            expected = encoder(**inputs, output_attentions=True).attentions
        for layer, weights in zip(example["layers"], expected, strict=True):
            worst = max(worst, (torch.tensor(layer["heads"]) - weights[0]).abs().max().item())
    return worst


def curve_difference(page, title, x, y):
    """The page shows some of the points: each must be one of the curve's."""
    series = figure(page, title)["series"][0]
    points = numpy.stack([page["axes"][series["axis"]]["x"], series["y"]], 1)
    curve = numpy.stack([x, y], 1)
    return max(numpy.abs(curve - point).max(1).min() for point in points)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("run")
    parser.add_argument("--data", required=True)
    parser.add_argument("--positive", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        page, hardest = pathlib.Path(folder, "page.html"), pathlib.Path(folder, "hardest.jsonl")
        subprocess.run([WEFT, "report", options.run, "--data", options.data, "--output", page], check=True)
        subprocess.run([WEFT, "evaluate", options.run, "--data", options.data, "--hardest", hardest, "--hardest-limit", "100000"], check=True)
        page = data_of(page)
        rows = [json.loads(line) for line in hardest.read_text("utf-8").splitlines()]
    labels = [row["label"] == options.positive for row in rows]
    scores = [row["scores"][options.positive] for row in rows]
    false_positive, true_positive, _ = roc_curve(labels, scores, drop_intermediate=False)
    precision, recall, _ = precision_recall_curve(labels, scores)
    fractions, means = calibration_curve(labels, scores, n_bins=10)
    found = {
        "attention": (attention_difference(page, pathlib.Path(options.run, "best")), 1e-5),
        "ROC curve": (curve_difference(page, "ROC curve", false_positive, true_positive), 1e-9),
        "precision-recall curve": (curve_difference(page, "Precision-recall curve", recall, precision), 1e-9),
        "calibration": (curve_difference(page, "Calibration", means, fractions), 1e-9),
    }
    for name, (difference, limit) in found.items():
        print(f"{name:24} {difference:.1e}  {'ok' if difference <= limit else f'more than {limit:g}'}")
    sys.exit(any(difference > limit for difference, limit in found.values()))


if __name__ == "__main__":
    main()
