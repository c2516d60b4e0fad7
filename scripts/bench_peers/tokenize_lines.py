#!/usr/bin/env python3
"""A peer of `weft tokenizer bench`: one thread encodes the lines of text files; the fastest of as many passes as the time allows.

Reading the files, loading the tokenizer and writing the ids are not timed.

    python3 scripts/bench_peers/tokenize_lines.py DIRECTORY --library tokie --input 'texts/*.txt' --seconds 2
"""
import argparse, glob, json, os, time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"
LINES_AT_ONCE = 1000


# Each returns a function from a list of lines to their number of tokens.


def load_tokenizers(path):
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(path)
    return lambda lines: sum(map(len, tokenizer.encode_batch_fast(lines, add_special_tokens=False)))


def load_tokie(path):
    import tokie

    tokenizer = tokie.Tokenizer.from_json(path)
    return lambda lines: len(tokenizer.encode_batch_flat(lines, add_special_tokens=False)[0])


def load_fastokens(path):
    import fastokens

    tokenizer = fastokens.Tokenizer.from_file(path)
    return lambda lines: len(tokenizer.encode_batch_flat(lines)[0]) // 4   # 32-bit ids


def load_splintr(path):
    import splintr

    tokenizer = splintr.from_json(path)
    return lambda lines: len(tokenizer.encode_batch_flat(lines)[0]) // 4   # 32-bit ids, with special tokens where it adds some


LIBRARIES = {"tokenizers": load_tokenizers, "tokie": load_tokie, "fastokens": load_fastokens, "splintr": load_splintr}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="directory with tokenizer.json")
    parser.add_argument("--library", required=True, choices=list(LIBRARIES))
    parser.add_argument("--input", required=True, help="files as a glob pattern")
    parser.add_argument("--seconds", type=float, default=2, help="no pass begins after it")
    options = parser.parse_args()
    try:
        count_tokens = LIBRARIES[options.library](os.path.join(options.model, "tokenizer.json"))
    except ValueError as problem:
        raise SystemExit(f"error: {options.library} cannot read this tokenizer: {str(problem).splitlines()[0]}")
    lines = []
    for path in sorted(glob.glob(options.input)):
        with open(path, encoding="utf-8", newline="\n") as file:
            lines += [line.rstrip("\n") for line in file]
    quickest, begin = float("inf"), time.perf_counter()
    while quickest == float("inf") or time.perf_counter() - begin < options.seconds:
        before = time.perf_counter()
        tokens = sum(count_tokens(lines[at:at + LINES_AT_ONCE]) for at in range(0, len(lines), LINES_AT_ONCE))
        quickest = min(quickest, time.perf_counter() - before)
    size = sum(len(line.encode()) + 1 for line in lines)
    print(json.dumps(dict(library=options.library, lines=len(lines), tokens=tokens, bytes=size, rate=size / quickest / 1e6)))


if __name__ == "__main__":
    main()
