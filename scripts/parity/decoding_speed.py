#!/usr/bin/env python3
"""Greedy decoding of a gpt-mini with random weights in Weft and in transformers, alternately: new tokens per second, medians.

    pip install torch transformers
    WEFT=build/weft python3 scripts/parity/decoding_speed.py [--rounds 5] [--batches 1,32] [--precision fp32] [--threads 2]

Each generates few and many tokens; the difference is the time for the tokens, without loading or processing the prompt.
"""
import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
sys.dont_write_bytecode = True

import torch
import transformers

transformers.utils.logging.disable_progress_bar()
WEFT = os.environ.get("WEFT", "weft")
FEW, MANY, PROMPT = 16, 144, 32


def weft_seconds(folder, prompts, new, options):
    lines = "".join(json.dumps({"ids": ids}) + "\n" for ids in prompts)
    begin = time.perf_counter()
    done = subprocess.run([WEFT, "generate", str(folder), "--ids", "--greedy", "--max-new", str(new), "--threads", str(options.threads),
                           "--precision", options.precision], input=lines, capture_output=True, text=True)
    seconds = time.perf_counter() - begin
    if done.returncode:
        raise SystemExit(done.stderr)
    assert all(len(json.loads(line)["ids"]) == new for line in done.stdout.splitlines())
    return seconds


def peer_seconds(model, prompts, new):
    inputs = torch.tensor(prompts)
    begin = time.perf_counter()
    with torch.no_grad():
        model.generate(inputs, attention_mask=torch.ones_like(inputs), max_new_tokens=new, min_new_tokens=new, do_sample=False)
    return time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batches", default="1,32")
    parser.add_argument("--precision", default="fp32", choices=["fp32", "bf16"])
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    config = transformers.GPT2Config(vocab_size=8192, n_embd=384, n_layer=6, n_head=6, n_positions=256, bos_token_id=0,
                                     eos_token_id=None, pad_token_id=0)
    model = transformers.GPT2LMHeadModel(config).eval()
    with tempfile.TemporaryDirectory(prefix="weft-speed-") as work:
        model.save_pretrained(work)
        (pathlib.Path(work) / "generation_config.json").write_text("{}")
        if options.precision == "bf16":
            model = model.bfloat16()
        for batch in map(int, options.batches.split(",")):
            rng = random.Random(batch)
            prompts = [[rng.randrange(1, 8192) for _ in range(PROMPT)] for _ in range(batch)]
            rates = {"weft": [], "transformers": []}
            for _ in range(options.rounds):
                for name, seconds in (("weft", lambda new: weft_seconds(work, prompts, new, options)),
                                      ("transformers", lambda new: peer_seconds(model, prompts, new))):
                    few = seconds(FEW)
                    rates[name].append(batch * (MANY - FEW) / max(seconds(MANY) - few, 1e-9))
            medians = {name: statistics.median(values) for name, values in rates.items()}
            print(f"batch {batch:3}: weft {medians['weft']:9.0f} tokens/s, transformers {medians['transformers']:9.0f}, "
                  f"{medians['weft'] / medians['transformers']:.2f} times", flush=True)


if __name__ == "__main__":
    main()
