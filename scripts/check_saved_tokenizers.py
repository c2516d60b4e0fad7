#!/usr/bin/env python3
"""Checks that transformers gives the same ids as Weft with tokenizers written by `weft tokenizer train`.

    pip install transformers
    WEFT=build/weft python3 scripts/check_saved_tokenizers.py TEXT_FILE... [--work DIR] [--vocab-size N]

Trains each kind in each style on the files, saves it, loads the directory with AutoTokenizer (with config.json files of
the families) and compares ids (for mBART on both sides) and pairs on up to 20,000 lines of the files and on the difficult lines of tests/reference.
"""
import argparse
import json
import os
import pathlib
import subprocess
import tempfile
import time

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"

from transformers import AutoTokenizer

WEFT = os.environ.get("WEFT", "weft")
NASTY = pathlib.Path(__file__).resolve().parent.parent / "tests/reference/tokenizers/lines.json"
KINDS = {
    "wordpiece": ["--type", "wordpiece"],
    "wordpiece-cased": ["--type", "wordpiece", "--cased"],
    "unigram": ["--type", "unigram"],
    "unigram-plain": ["--type", "unigram", "--normalization", "identity"],
    "unigram-bytes": ["--type", "unigram", "--byte-fallback"],
    "bpe": ["--type", "bpe"],
    "bpe-bytes": ["--type", "bpe", "--byte-fallback", "--normalization", "identity"],
    "byte-level": ["--type", "byte_level_bpe"],
    "byte-level-space": ["--type", "byte_level_bpe", "--add-prefix-space"],
}


def weft(*arguments, lines=()):
    data = "".join(line + "\n" for line in lines).encode()
    done = subprocess.run([WEFT, "tokenizer", *map(str, arguments)], input=data, capture_output=True)
    if done.returncode:
        raise SystemExit(f"weft tokenizer {arguments[0]}: {done.stderr.decode()}")
    return [json.loads(row)["ids"] for row in done.stdout.decode().removesuffix("\n").split("\n") if row]


def differing(expected, found):
    return sum(a != b for a, b in zip(expected, found, strict=True))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--work", default=tempfile.mkdtemp(prefix="weft-tokenizers-"))
    parser.add_argument("--vocab-size", default=8192)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    lines = [line for path in options.files for line in pathlib.Path(path).read_text("utf-8").split("\n")][:20000]
    lines += json.loads(NASTY.read_text("utf-8"))
    pairs = [(a, b) for a, b in zip(lines[:500], lines[500:1000]) if "\t" not in a]
    failed = 0
    for kind, settings in KINDS.items():
        for style in ("bert", "distilbert", "modernbert", "roberta", "xlm-roberta", "gpt2", "qwen2", "mbart"):
            is_known = {"gpt2": kind.startswith("byte-level"), "qwen2": kind.startswith("byte-level"), "mbart": kind == "unigram-plain"}.get(style, kind != "unigram-plain")
            if not is_known:
                continue
            if options.only not in f"{kind}/{style}":
                continue
            folder = pathlib.Path(options.work) / f"{kind}-{style}"
            inputs = [argument for path in options.files for argument in ("--input", path)]
            began = time.time()
            weft("train", *inputs, "--output", folder, "--vocab-size", options.vocab_size, "--style", style, *settings,
                 *(["--languages", "en_XX,de_DE"] if style == "mbart" else []))
            seconds = time.time() - began
            (folder / "config.json").write_text(json.dumps({"model_type": style, "architectures": None}))
            tokenizer = AutoTokenizer.from_pretrained(str(folder))
            bad = differing(tokenizer(lines)["input_ids"], weft("encode", "--model", folder, lines=lines))
            bad_pairs = differing(tokenizer([a for a, _ in pairs], [b for _, b in pairs])["input_ids"],
                                  weft("encode", "--model", folder, "--pairs", lines=[f"{a}\t{b}" for a, b in pairs]))
            if style == "mbart":
                bad += differing(tokenizer(text_target=lines)["input_ids"], weft("encode", "--model", folder, "--target", lines=lines))
            failed += bool(bad or bad_pairs)
            print(f"{'FAIL' if bad or bad_pairs else 'pass'}  {kind:<16} {style:<11} {type(tokenizer).__name__:<18} "
                  f"trained in {seconds:5.1f} s; {bad} of {len(lines)} lines and {bad_pairs} of {len(pairs)} pairs differ", flush=True)
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
