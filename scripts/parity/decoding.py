#!/usr/bin/env python3
"""Generates with tiny random models in transformers and in Weft (greedy and beam search) and compares all tokens; then the
log-probabilities of texts.

    pip install torch transformers
    WEFT=build/weft python3 scripts/parity/decoding.py [--seed N] [--only NAME] [--prompts 200]

Prompts have many lengths: Weft gets all at once, transformers those of equal length together, so that neither pads. If two
choices, or two beams, are equally good up to rounding (1e-5), either may win: such prompts are counted as ties.
"""
import argparse
import itertools
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
sys.dont_write_bytecode = True

import torch
import transformers
from transformers import GenerationConfig
from transformers.generation import RepetitionPenaltyLogitsProcessor

transformers.utils.logging.disable_progress_bar()
WEFT = os.environ.get("WEFT", "weft")
WORDS = 61
END = 2
NEW = 24
# Wide initial weights: choices are then far enough apart for fp32.
SMALL = dict(vocab_size=WORDS, bos_token_id=0, eos_token_id=END, pad_token_id=1)
SIDES = dict(d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=64,
             decoder_ffn_dim=64, max_position_embeddings=64, init_std=0.3)


def gpt2():
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(
        n_embd=32, n_layer=2, n_head=4, n_positions=64, initializer_range=0.3, **SMALL)), {}


def llama():
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(
        hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        max_position_embeddings=64, initializer_range=0.3, **SMALL)), {}


def mistral():
    return transformers.MistralForCausalLM(transformers.MistralConfig(
        hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, sliding_window=12,
        max_position_embeddings=64, initializer_range=0.3, **SMALL)), {}


def t5():
    return transformers.T5ForConditionalGeneration(transformers.T5Config(
        vocab_size=WORDS, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_decoder_layers=2, num_heads=4, initializer_factor=4.0,
        relative_attention_num_buckets=8, relative_attention_max_distance=20, eos_token_id=END, pad_token_id=0,
        decoder_start_token_id=0)), dict(decoder_start_token_id=0, pad_token_id=0)


def t5_gated():
    return transformers.T5ForConditionalGeneration(transformers.T5Config(
        vocab_size=WORDS, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_decoder_layers=2, num_heads=4, initializer_factor=3.0,
        feed_forward_proj="gated-gelu", tie_word_embeddings=False, eos_token_id=END, pad_token_id=0,
        decoder_start_token_id=0)), dict(decoder_start_token_id=0, pad_token_id=0)


def bart():
    settings = dict(decoder_start_token_id=END, forced_eos_token_id=END, forced_bos_token_id=0, no_repeat_ngram_size=3)
    return transformers.BartForConditionalGeneration(transformers.BartConfig(
        decoder_start_token_id=END, forced_eos_token_id=END, **SIDES, **SMALL)), settings


def marian():
    start = WORDS - 1
    settings = dict(decoder_start_token_id=start, forced_eos_token_id=END, bad_words_ids=[[start]], renormalize_logits=True)
    small = {**SMALL, "pad_token_id": start}
    return transformers.MarianMTModel(transformers.MarianConfig(
        decoder_start_token_id=start, scale_embedding=True, activation_function="swish", **SIDES, **small)), settings


FAMILIES = {"gpt2": gpt2, "llama": llama, "mistral": mistral, "t5": t5, "t5_gated": t5_gated, "bart": bart, "marian": marian}
SEARCHES = {
    "greedy": ({}, []),
    "beam 4": (dict(num_beams=4), ["--beams", "4"]),
    "beam 4, early": (dict(num_beams=4, early_stopping=True, length_penalty=0.6),
                      ["--beams", "4", "--early-stopping", "yes", "--length-penalty", "0.6"]),
    "rules": (dict(repetition_penalty=1.4, no_repeat_ngram_size=2, min_new_tokens=6),
              ["--repetition-penalty", "1.4", "--no-repeat-ngram-size", "2", "--min-new", "6"]),
}


def prompts(count, rng, is_source):
    made = [[rng.randrange(3, WORDS - 1) for _ in range(rng.randrange(1, 24))] for _ in range(count)]
    return [ids + [END] if is_source else ids for ids in made]


def generated(model, asked, settings):
    """What transformers gives, by prompt, cut after the end."""
    has_encoder = model.config.is_encoder_decoder
    answers = {}
    for length, group in itertools.groupby(sorted(range(len(asked)), key=lambda i: len(asked[i])), key=lambda i: len(asked[i])):
        group = list(group)
        inputs = torch.tensor([asked[i] for i in group])
        config = GenerationConfig.from_dict({**model.generation_config.to_dict(), "max_new_tokens": NEW, "max_length": None, **settings})
        with torch.no_grad():
            found = model.generate(inputs, generation_config=config, attention_mask=torch.ones_like(inputs))
        for i, row in zip(group, found[:, 1 if has_encoder else length:].tolist()):
            answers[i] = row[:row.index(END) + 1] if END in row else row
    return [answers[i] for i in range(len(asked))]


def asked_of_weft(folder, asked, options, *more):
    lines = "".join(json.dumps({"ids": ids}) + "\n" for ids in asked)
    command = [WEFT, "generate", str(folder), "--ids", "--max-new", str(NEW), "--threads", "1", *options, *more]
    done = subprocess.run(command, input=lines, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: {done.stderr}")
    return [json.loads(line)["ids"] for line in done.stdout.splitlines()]


def logits_of(model, prompt, tokens):
    """The logits of each new token, and the tokens that the decoder has read before the last of them."""
    with torch.no_grad():
        if model.config.is_encoder_decoder:
            begun = [model.generation_config.decoder_start_token_id] + tokens
            logits = model(input_ids=torch.tensor([prompt]), decoder_input_ids=torch.tensor([begun])).logits[0]
        else:
            begun = prompt + tokens
            logits = model(input_ids=torch.tensor([begun])).logits[0]
    return logits[len(begun) - len(tokens) - 1:], begun


def is_tie(model, prompt, settings, wanted, found):
    """Whether rounding decides: two beams are equally likely, or two tokens have equal scores where the texts first differ."""
    if settings.get("num_beams", 1) > 1:
        power = settings.get("length_penalty", 1.0)
        scores = []
        for tokens in (wanted, found):
            logs = logits_of(model, prompt, tokens[:-1])[0].log_softmax(-1)
            scores.append(logs.gather(1, torch.tensor(tokens)[:, None]).sum().item() / len(tokens) ** power)
        return abs(scores[0] - scores[1]) < 1e-5 * max(1, abs(scores[0]))
    at = next(i for i, (a, b) in enumerate(itertools.zip_longest(wanted, found)) if a != b)
    if at >= min(len(wanted), len(found)):
        return False
    logits, begun = logits_of(model, prompt, wanted[:at])
    scores = logits[-1:]
    if "repetition_penalty" in settings:
        scores = RepetitionPenaltyLogitsProcessor(settings["repetition_penalty"])(torch.tensor([begun]), scores)
    return abs(scores[0, wanted[at]] - scores[0, found[at]]) < 1e-5 * logits.abs().max()


def compare(name, folder, model, asked):
    failed = 0
    for search, (settings, options) in SEARCHES.items():
        wanted = generated(model, asked, settings)
        found = asked_of_weft(folder, asked, options)
        alone = asked_of_weft(folder, asked[:8], options, "--batch-size", "1")
        apart = [i for i in range(len(asked)) if wanted[i] != found[i]]
        ties = [i for i in apart if is_tie(model, asked[i], settings, wanted[i], found[i])]
        wrong = [i for i in apart if i not in ties]
        lengths = sum(map(len, found)) / len(found)
        print(f"{name:10} {search:14} {len(asked) - len(apart)} of {len(asked)} equal, {len(ties)} ties, {lengths:.1f} tokens each"
              + (f"; prompt {wrong[0]}: {wanted[wrong[0]]} {found[wrong[0]]}" if wrong else "")
              + ("" if alone == found[:8] else "; batches of 1 differ"), flush=True)
        failed += len(wrong) + (alone != found[:8])
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--only", default="")
    parser.add_argument("--prompts", type=int, default=200)
    options = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory(prefix="weft-decoding-") as work:
        for name, make in FAMILIES.items():
            if options.only and name not in options.only.split(","):
                continue
            torch.manual_seed(options.seed)
            model, settings = make()
            model.eval()
            for parameter in model.parameters():  # biases too
                if parameter.dim() == 1:
                    parameter.data += torch.randn_like(parameter) * 0.1
            for key, value in settings.items():
                setattr(model.generation_config, key, value)
            folder = pathlib.Path(work) / name
            model.save_pretrained(folder)
            asked = prompts(options.prompts, random.Random(options.seed), model.config.is_encoder_decoder)
            failed += compare(name, folder, model, asked)
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
