#!/usr/bin/env python3
"""Writes tests/reference/metrics.json: metrics of random labels and values as scikit-learn and SciPy compute them.

    pip install scikit-learn==1.7.* scipy
    python3 scripts/make_metrics_reference.py
"""
import json
import math
import pathlib
import random
import warnings

from scipy import stats
from sklearn import metrics

TARGET = pathlib.Path(__file__).resolve().parent.parent / "tests/reference/metrics.json"


def classes_case(rng, count, classes, skill):
    labels = [rng.randrange(classes) for _ in range(count)]
    predictions = [label if rng.random() < skill else rng.randrange(classes) for label in labels]
    average = "binary" if classes == 2 else "macro"
    precision, recall, f1, _ = metrics.precision_recall_fscore_support(labels, predictions, average=average, zero_division=0)
    return {"classes": classes, "labels": labels, "predictions": predictions,
            "accuracy": metrics.accuracy_score(labels, predictions), "precision": precision, "recall": recall, "f1": f1,
            "matthews_correlation": metrics.matthews_corrcoef(labels, predictions)}


def probabilities(rng, classes, label, skill):
    """A softmax of noise with a push towards the label; eighths are exact in float and make ties."""
    logits = [round(8 * (rng.gauss(0, 1) + (skill if name == label else 0))) / 8 for name in range(classes)]
    powers = [math.exp(logit - max(logits)) for logit in logits]
    return logits, [power / sum(powers) for power in powers]


def calibration_error(truths, shares, bins=15):
    """The mean gap of each bin, weighed by its size; scikit-learn has none."""
    total = 0.0
    for index in range(bins):
        inside = [i for i, share in enumerate(shares) if index < share * bins <= index + 1 or (index == 0 and share == 0)]
        if inside:
            gap = sum(shares[i] for i in inside) / len(inside) - sum(truths[i] for i in inside) / len(inside)
            total += abs(gap) * len(inside) / len(shares)
    return total


def averages(labels, predictions):
    result = {}
    for average in ("micro", "macro", "weighted"):
        precision, recall, f1, _ = metrics.precision_recall_fscore_support(labels, predictions, average=average, zero_division=0)
        result[average] = {"precision": precision, "recall": recall, "f1": f1}
    return result


def scores_case(rng, count, classes, skill):
    """One class for each row, from logits."""
    labels = [i % classes if i < classes else rng.randrange(classes) for i in range(count)]
    rows = [probabilities(rng, classes, label, skill) for label in labels]
    shares = [row[1] for row in rows]
    found = [max(range(classes), key=lambda name: row[name]) for row in shares]
    second = [row[1] for row in shares]
    flags = [[int(label == name) for name in range(classes)] for label in labels]
    per_class = metrics.precision_recall_fscore_support(labels, found, labels=range(classes), zero_division=0)
    return {"classes": classes, "labels": labels, "logits": [row[0] for row in rows], **averages(labels, found),
            "accuracy": metrics.accuracy_score(labels, found), "matthews_correlation": metrics.matthews_corrcoef(labels, found),
            "per_class": [list(map(float, row)) for row in per_class],
            "confusion_matrix": metrics.confusion_matrix(labels, found, labels=range(classes)).tolist(),
            "roc_auc": metrics.roc_auc_score(labels, second) if classes == 2 else metrics.roc_auc_score(labels, shares, multi_class="ovr"),
            "average_precision": metrics.average_precision_score(labels, second) if classes == 2
            else metrics.average_precision_score(flags, shares, average="macro"),
            "log_loss": metrics.log_loss(labels, shares, labels=range(classes)),
            "brier_score": metrics.brier_score_loss(labels, second) if classes == 2
            else sum((share - flag) ** 2 for row, wanted in zip(shares, flags) for share, flag in zip(row, wanted)) / count,
            "calibration_error": calibration_error([int(a == b) for a, b in zip(labels, found)], [max(row) for row in shares])}


def flags_case(rng, count, classes, skill):
    """Any number of classes for each row, from logits."""
    wanted = [[int(i % classes == name or rng.random() < 0.3) for name in range(classes)] for i in range(count)]
    logits = [[round(8 * (rng.gauss(0, 1) + (skill if flag else -skill))) / 8 for flag in row] for row in wanted]
    shares = [[1 / (1 + math.exp(-logit)) for logit in row] for row in logits]
    found = [[int(share >= 0.5) for share in row] for row in shares]
    per_class = metrics.precision_recall_fscore_support(wanted, found, zero_division=0)
    all_wanted, all_shares = sum(wanted, []), sum(shares, [])
    return {"classes": classes, "wanted": wanted, "logits": logits, **averages(wanted, found),
            "accuracy": metrics.accuracy_score(wanted, found), "hamming_loss": metrics.hamming_loss(wanted, found),
            "per_class": [list(map(float, row)) for row in per_class],
            "confusion_matrix": metrics.multilabel_confusion_matrix(wanted, found).tolist(),
            "roc_auc": metrics.roc_auc_score(wanted, shares, average="macro"),
            "average_precision": metrics.average_precision_score(wanted, shares, average="macro"),
            "log_loss": metrics.log_loss(all_wanted, all_shares), "brier_score": metrics.brier_score_loss(all_wanted, all_shares),
            "calibration_error": calibration_error(all_wanted, all_shares),
            "best_f1": max(metrics.f1_score(all_wanted, [int(share >= cut) for share in all_shares]) for cut in set(all_shares))}


def values_case(rng, count, noise, digits):
    x = [round(rng.uniform(0, 5), digits) for _ in range(count)]
    y = [round(value + rng.gauss(0, noise), digits) for value in x]
    return {"x": x, "y": y, "pearson": stats.pearsonr(x, y)[0], "spearmanr": stats.spearmanr(x, y)[0]}


def main():
    warnings.simplefilter("ignore")
    rng = random.Random(1)
    shapes = [(40, 2, 0.7), (40, 2, 0.0), (60, 5, 0.5), (12, 9, 0.3), (3, 4, 0.9)]
    cases = {"classes": [classes_case(rng, *shape) for shape in shapes],
             "values": [values_case(rng, 30, 1.0, 3), values_case(rng, 40, 0.5, 0), values_case(rng, 2, 1.0, 2)],
             "scores": [scores_case(rng, 50, 2, 1.0), scores_case(rng, 50, 2, 0.0), scores_case(rng, 80, 5, 1.5)],
             "flags": [flags_case(rng, 40, 4, 0.7), flags_case(rng, 30, 2, 0.1)]}
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(json.dumps(cases) + "\n")


if __name__ == "__main__":
    main()
