#!/usr/bin/env python3
"""Scores the prompting sets with small random models in transformers, by the conventions of lm-evaluation-harness, and with
`weft score --task`, and compares log-probabilities, predictions and metrics.

    pip install torch transformers
    WEFT=build/weft WEFT_SHARED=../shared python3 scripts/parity/likelihood.py [--rows 40]

Run in the source folder. Log-probabilities may differ by 1e-4 for each token.
"""
import argparse
import csv
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
sys.dont_write_bytecode = True

import torch
import transformers

transformers.utils.logging.disable_progress_bar()
WEFT = os.environ.get("WEFT", "weft")
SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
DATA = pathlib.Path(os.environ.get("WEFT_SHARED", SOURCE.parent / "shared")) / "data"
LENGTH = 256


def small(text):
    return text[0].lower() + text[1:]


def copa(words):
    def asked(row):
        return row["premise"].strip()[:-1] + " " + words[row["question"]], [small(row["choice0"]), small(row["choice1"])], int(row["label"])
    return asked


def piqa(row):
    return f"Question: {row['goal']}\nAnswer:", [row["choice0"], row["choice1"]], int(row["label"])


def anli(row):
    context = f"{row['sentence1']}\nQuestion: {row['sentence2']} True, False, or Neither?\nAnswer:"
    return context, ["True", "Neither", "False"], ["entailment", "neutral", "contradiction"].index(row["label"])


def hellaswag(row):
    return row["context"], [row[f"choice{i}"] for i in range(4)], int(row["label"])


def lambada(row):
    return row["context"], [row["last_word"]], None


TASKS = {
    "copa": ("prompt_copa/dev.tsv", copa({"cause": "because", "effect": "therefore"})),
    "piqa": ("prompt_piqa/valid.tsv", piqa),
    "anli": ("prompt_anli/r1_dev.tsv", anli),
    "hellaswag": ("prompt_hellaswag/val.tsv", hellaswag),
    "lambada": ("prompt_lambada/test.tsv", lambada),
    "xcopa_id": ("prompt_xcopa/val.id.tsv", copa({"cause": "karena", "effect": "maka"})),
    "xcopa_it": ("prompt_xcopa/val.it.tsv", copa({"cause": "perch\u00e9", "effect": "quindi"})),
    "xcopa_sw": ("prompt_xcopa/val.sw.tsv", copa({"cause": "kwa sababu", "effect": "kwa hiyo"})),
    "xcopa_tr": ("prompt_xcopa/val.tr.tsv", copa({"cause": "\u00e7\u00fcnk\u00fc", "effect": "bu y\u00fczden"})),
    "xcopa_vi": ("prompt_xcopa/val.vi.tsv", copa({"cause": "b\u1edfi v\u00ec", "effect": "v\u00ec v\u1eady"})),
    "xcopa_zh": ("prompt_xcopa/val.zh.tsv", copa({"cause": "\u56e0\u4e3a", "effect": "\u6240\u4ee5"})),
}


class Peer:
    def __init__(self, folder):
        config = transformers.AutoConfig.from_pretrained(folder)
        self.has_encoder = config.is_encoder_decoder
        kind = transformers.AutoModelForSeq2SeqLM if self.has_encoder else transformers.AutoModelForCausalLM
        self.model = kind.from_pretrained(folder).eval()
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        self.begin = self.tokenizer.bos_token_id if self.tokenizer.bos_token_id is not None else self.tokenizer.eos_token_id

    def ids(self, text):
        return self.tokenizer(text, add_special_tokens=False)["input_ids"]

    def logs(self, inputs, targets):
        with torch.no_grad():
            logits = self.model(torch.tensor([inputs])).logits[0].double()
        return self.sum(logits[-len(targets):], targets)

    @staticmethod
    def sum(logits, targets):
        found = logits.log_softmax(-1).gather(1, torch.tensor(targets)[:, None]).sum().item()
        return found, logits.argmax(-1).tolist() == targets, len(targets)

    def score(self, context, continuation):
        spaces = len(context) - len(context.rstrip())
        if spaces:
            context, continuation = context[:-spaces], context[-spaces:] + continuation
        if self.has_encoder:
            source, targets = self.tokenizer(context)["input_ids"], self.ids(continuation)
            with torch.no_grad():
                logits = self.model(input_ids=torch.tensor([source]), labels=torch.tensor([targets])).logits[0].double()
            return self.sum(logits, targets)
        first = self.ids(context)
        targets = self.ids(context + continuation)[len(first):]
        if len(targets) > LENGTH:
            return self.windows(first[-1], targets)
        return self.logs((first + targets)[-(LENGTH + 1):][:-1], targets)

    def windows(self, begin, tokens):
        size = min(LENGTH, len(tokens))
        parts = [self.logs([begin] + tokens[:size - 1], tokens[:size])]
        for done in range(size, len(tokens), LENGTH):
            end = min(done + LENGTH, len(tokens))
            parts.append(self.logs(tokens[end - LENGTH - 1:end - 1], tokens[done:end]))
        return sum(part[0] for part in parts), all(part[1] for part in parts), len(tokens)


def weft(*options):
    command = [WEFT, "score", *map(str, options), "--threads", "1"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=SOURCE)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: {done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def compare_task(name, folder, peer, rows_wanted, work):
    file, asked = TASKS[name]
    with open(DATA / file, encoding="utf-8", newline="") as stream:
        lines = stream.read().split("\n")[:rows_wanted + 1]
    table = work / pathlib.Path(file).name
    table.write_text("\n".join(lines) + "\n", encoding="utf-8")
    rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    found = weft(folder, "--task", f"configs/score/{name}.yaml", "--data", table)
    worst, right, wrong = 0.0, 0, 0
    for row, line in zip(rows, found):
        context, choices, label = asked(row)
        wanted = [peer.score(context, " " + choice) for choice in choices]
        got = line.get("log_probabilities", [line.get("log_probability")])
        worst = max([worst] + [abs(a[0] - b) / max(a[2], 1) for a, b in zip(wanted, got)])
        sums = [a[0] for a in wanted]
        if label is None:
            wrong += line["is_greedy"] != wanted[0][1]
            right += wanted[0][1]
        else:
            wrong += line["prediction"] != sums.index(max(sums))
            right += sums.index(max(sums)) == label
    accuracy = found[-1]["accuracy"]
    ok = worst <= 1e-4 and not wrong and len(found) == len(rows) + 1 and math.isclose(accuracy, right / len(rows), abs_tol=1e-12)
    print(f"{folder.name:6} {name:10} {len(rows)} rows, worst {worst:.1e} a token, {wrong} predictions differ, accuracy {accuracy:.3f}"
          + ("" if ok else "  WRONG"), flush=True)
    return ok


def compare_text(folder, peer, work):
    text = (DATA / "lm_wikitext2/test.txt").read_text(encoding="utf-8")[:6000]
    (work / "text.txt").write_text(text, encoding="utf-8")
    line, metrics = weft(folder, "--text", work / "text.txt")
    text = (work / "text.txt").read_text(encoding="utf-8")
    text += "" if text.endswith("\n") else "\n"
    wanted, _, tokens = peer.windows(peer.begin, peer.ids(text))
    words = len(re.split(r"\s+", text))
    ok = abs(line["log_probability"] - wanted) <= 1e-4 * tokens and line["words"] == words and line["tokens"] == tokens \
        and math.isclose(metrics["word_perplexity"], math.exp(-line["log_probability"] / words), rel_tol=1e-9)
    print(f"{folder.name:6} text       {tokens} tokens, {abs(line['log_probability'] - wanted) / tokens:.1e} a token, "
          f"bits per byte {metrics['bits_per_byte']:.4f}" + ("" if ok else "  WRONG"), flush=True)
    return ok


def decoder(folder):
    torch.manual_seed(7)
    transformers.GPT2LMHeadModel(transformers.GPT2Config(
        vocab_size=420, n_embd=32, n_layer=2, n_head=4, n_positions=LENGTH, initializer_range=0.2, bos_token_id=0,
        eos_token_id=0)).save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(SOURCE / "tests/reference/tokenizers/gpt2" / name, folder)


def encoder_decoder(folder):
    torch.manual_seed(7)
    reference = SOURCE / "tests/reference/tokenizers/t5"
    shutil.copytree(reference, folder)
    words = len(transformers.AutoTokenizer.from_pretrained(folder))
    transformers.T5ForConditionalGeneration(transformers.T5Config(
        vocab_size=words, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, initializer_factor=1.0, pad_token_id=0, eos_token_id=1,
        decoder_start_token_id=0)).save_pretrained(folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=40)
    options = parser.parse_args()
    good = True
    with tempfile.TemporaryDirectory(prefix="weft-likelihood-") as raw:
        work = pathlib.Path(raw)
        folder = work / "gpt2"
        decoder(folder)
        peer = Peer(folder)
        for name in TASKS:
            good &= compare_task(name, folder, peer, options.rows, work)
        good &= compare_text(folder, peer, work)
        folder = work / "t5"
        encoder_decoder(folder)
        peer = Peer(folder)
        for name in ("copa", "hellaswag", "lambada"):
            good &= compare_task(name, folder, peer, options.rows, work)
    raise SystemExit(0 if good else 1)


if __name__ == "__main__":
    main()
