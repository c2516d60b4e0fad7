#!/usr/bin/env python3
"""A peer of `weft predict`: text classification with `transformers`, batches padded to their longest text, weights in the given precision.

Reads and writes the same JSON lines. The time is measured from the loaded texts to the last prediction, without loading the model and without a first batch.

    python3 scripts/bench_peers/predict.py MODEL --input texts.jsonl --output answers.jsonl [--grouped] [--precision bf16]
"""
import argparse, json, os, time

os.environ.setdefault("HF_HUB_OFFLINE", "1")
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--input", required=True)
    parser.add_argument("--output", required=True)
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="bf16")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--grouped", action="store_true", help="sort the texts by length first")
    options = parser.parse_args()
    tokenizer = AutoTokenizer.from_pretrained(options.model)
    model = AutoModelForSequenceClassification.from_pretrained(options.model).eval()
    if options.precision == "bf16":
        model.to(torch.bfloat16)
    names = model.config.id2label
    with open(options.input, encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines]

    def classes(batch_texts):
        inputs = tokenizer.pad(dict(input_ids=batch_texts), return_tensors="pt")
        return model(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"]).logits.float().softmax(-1).max(-1)

    def encoded(some):
        return tokenizer(some, truncation=True, max_length=options.length, return_token_type_ids=False,
                         return_attention_mask=False)["input_ids"]

    answers = [None] * len(texts)
    with torch.inference_mode():
        classes(encoded(texts[: options.batch]))
        begin = time.perf_counter()
        ids = encoded(texts)
        order = sorted(range(len(ids)), key=lambda at: len(ids[at])) if options.grouped else list(range(len(ids)))
        for at in range(0, len(order), options.batch):
            rows = order[at:at + options.batch]
            best = classes([ids[row] for row in rows])
            for row, score, label in zip(rows, best.values.tolist(), best.indices.tolist()):
                answers[row] = (names[label], score)
        seconds = time.perf_counter() - begin
    with open(options.output, "w", encoding="utf-8") as out:
        out.writelines(json.dumps(dict(label=label, score=round(score, 6))) + "\n" for label, score in answers)
    print(json.dumps(dict(library="transformers", threads=torch.get_num_threads(), sequences=len(texts), timed_seconds=seconds,
                          sequences_per_s=len(texts) / seconds)), flush=True)


if __name__ == "__main__":
    main()
