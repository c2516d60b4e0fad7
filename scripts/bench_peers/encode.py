#!/usr/bin/env python3
"""A peer of `weft predict` (--task classify) and of `weft embed` (--task embed: mean of the last states, of length 1).

Reads JSON lines {"text": ...} and writes {"label": ...} or a list of numbers for each. The time is measured from the loaded texts to the last
prediction, without loading the model and without a first batch. --convert converts the model instead, to --converted.

    python3 scripts/bench_peers/encode.py MODEL --task classify --library onnxruntime --converted DIR --input texts.jsonl --convert
    python3 scripts/bench_peers/encode.py MODEL --task classify --library onnxruntime --converted DIR --input texts.jsonl --output FILE
"""
import argparse, importlib, json, os, pathlib, time

import numpy

BATCH = 32


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="directory with config.json, model.safetensors and tokenizer.json")
    parser.add_argument("--task", required=True, choices=["classify", "embed"])
    parser.add_argument("--library", required=True, choices=["transformers", "onnxruntime", "openvino"])
    parser.add_argument("--precision", choices=["fp32", "bf16", "int8"], default="fp32")
    parser.add_argument("--converted", help="directory of the model in the format of the library")
    parser.add_argument("--convert", action="store_true")
    parser.add_argument("--input", required=True)
    parser.add_argument("--output")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--grouped", action="store_true", help="sort the texts by length first, the longest to the front")
    return parser.parse_args()


class Encoder:
    """Texts to ids, and ids to batches padded to their longest text."""

    def __init__(self, options):
        os.environ["RAYON_NUM_THREADS"] = str(options.threads)
        from tokenizers import Tokenizer

        self.tokenizer = Tokenizer.from_file(str(pathlib.Path(options.model) / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(options.length)
        self.grouped = options.grouped

    def batches(self, texts):
        """The order of the texts, and (ids, mask) of each batch."""
        rows = [encoding.ids for encoding in self.tokenizer.encode_batch_fast(texts)]
        order = sorted(range(len(rows)), key=lambda at: -len(rows[at])) if self.grouped else list(range(len(rows)))
        return order, [padded([rows[at] for at in order[begin:begin + BATCH]]) for begin in range(0, len(order), BATCH)]


def padded(rows):
    width = max(map(len, rows))
    mask = numpy.arange(width) < numpy.array([[len(row)] for row in rows])
    ids = numpy.zeros(mask.shape, dtype=numpy.int64)   # masked positions do not matter
    ids[mask] = numpy.concatenate(rows)
    return ids, mask.astype(numpy.int64)


def main():
    options = arguments()
    library = importlib.import_module(f"encode_{options.library}")
    texts = [json.loads(line)["text"] for line in pathlib.Path(options.input).read_text(encoding="utf-8").splitlines()]
    encoder = Encoder(options)
    if options.convert:
        pathlib.Path(options.converted).mkdir(parents=True, exist_ok=True)
        return library.convert(options, lambda some: encoder.batches(some)[1], texts)
    answer = library.load(options)   # from batches to an array of each: scores of the classes, or vectors
    answer(encoder.batches(texts[:BATCH])[1])
    begin = time.perf_counter()
    order, batches = encoder.batches(texts)
    found = numpy.concatenate(answer(batches))
    if options.task == "classify":
        found = found.argmax(-1)
    answers = [None] * len(texts)
    for at, value in zip(order, found.tolist()):
        answers[at] = value
    seconds = time.perf_counter() - begin
    if options.task == "classify":
        names = json.loads((pathlib.Path(options.model) / "config.json").read_text())["id2label"]
        answers = [dict(label=names[str(value)]) for value in answers]
    with open(options.output, "w", encoding="utf-8") as out:
        out.writelines(json.dumps(value) + "\n" for value in answers)
    print(json.dumps(dict(library=options.library, threads=options.threads, sequences=len(texts), timed_seconds=seconds,
                          rate=len(texts) / seconds)), flush=True)


if __name__ == "__main__":
    main()
