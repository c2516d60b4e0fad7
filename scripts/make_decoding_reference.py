#!/usr/bin/env python3
"""Writes tests/reference/decoding.json: results of transformers' `generate` with a toy model and many settings.

    pip install torch transformers==5.23.*
    python3 scripts/make_decoding_reference.py

The logits of the toy model are a formula over the last two tokens, which the tests compute too.
"""
import json
import pathlib

import torch
from transformers import GenerationConfig, GenerationMixin, PretrainedConfig, PreTrainedModel
from transformers.generation import logits_process
from transformers.modeling_outputs import CausalLMOutput

TARGET = pathlib.Path(__file__).resolve().parent.parent / "tests/reference/decoding.json"
WORDS = 14
END = 13


def toy_logit(before, last, word):
    return ((before * 7919 + last * 10473 + word * 3571 + (last + 1) * (word + 2) * 331 + (before + 3) * word * 173) % 1009) / 200


class ToyConfig(PretrainedConfig):
    model_type = "toy"


class Toy(PreTrainedModel, GenerationMixin):
    config_class = ToyConfig

    def __init__(self, config):
        super().__init__(config)
        self.dummy = torch.nn.Parameter(torch.zeros(1))
        self.table = torch.tensor([[[toy_logit(a, b, c) for c in range(WORDS)] for b in range(WORDS)] for a in range(WORDS)])

    def forward(self, input_ids, **_):
        before = torch.cat([torch.zeros_like(input_ids[:, :1]), input_ids[:, :-1]], 1)
        return CausalLMOutput(logits=self.table[before, input_ids])


PROMPTS = [[1], [2, 3], [5, 4, 3, 2, 1], [7, 7, 7], [11, 12, 0, 9]]
SETTINGS = [
    dict(), dict(repetition_penalty=1.7), dict(repetition_penalty=0.8), dict(no_repeat_ngram_size=2), dict(no_repeat_ngram_size=1),
    dict(bad_words_ids=[[3], [4, 5], [END], [6, 7, 8]]), dict(min_new_tokens=9), dict(suppress_tokens=[0, 2, 4]),
    dict(begin_suppress_tokens=[END, 1, 6]), dict(forced_bos_token_id=9), dict(forced_eos_token_id=END),
    dict(forced_bos_token_id=9, begin_suppress_tokens=[3, END, 8]), dict(eos_token_id=[END, 5]),
    dict(max_new_tokens=1), dict(max_new_tokens=30, repetition_penalty=1.3, no_repeat_ngram_size=3, min_new_tokens=4),
]
BEAMS = [
    dict(num_beams=4), dict(num_beams=2), dict(num_beams=5, early_stopping=True), dict(num_beams=4, early_stopping="never"),
    dict(num_beams=3, length_penalty=2.0), dict(num_beams=3, length_penalty=0.0), dict(num_beams=4, length_penalty=-1.0),
    dict(num_beams=4, length_penalty=0.6, early_stopping="never"), dict(num_beams=4, early_stopping=True, length_penalty=2.0),
    dict(num_beams=7),
]


def cases():
    result = [dict(setting) for setting in SETTINGS]
    for beams in BEAMS:
        result += [{**setting, **beams} for setting in (SETTINGS if beams == BEAMS[0] else SETTINGS[:4] + SETTINGS[-3:])]
    return result


def main():
    model = Toy(ToyConfig(vocab_size=WORDS)).eval()
    found = []
    for case in cases():
        settings = {"max_new_tokens": 12, "eos_token_id": END, "pad_token_id": 0, "use_cache": False, **case}
        best = settings.get("num_beams", 1)
        answers = []
        for prompt in PROMPTS:
            config = GenerationConfig(**settings, num_return_sequences=best, return_dict_in_generate=True, output_scores=True)
            with torch.no_grad():
                done = model.generate(torch.tensor([prompt]), generation_config=config, attention_mask=torch.ones(1, len(prompt), dtype=torch.long))
            ends = settings["eos_token_id"] if isinstance(settings["eos_token_id"], list) else [END]
            rows = []
            for row in done.sequences[:, len(prompt):].tolist():
                cut = next((i + 1 for i, token in enumerate(row) if token in ends), len(row))
                rows.append(row[:cut])
            scores = done.sequences_scores.tolist() if best > 1 else []
            answers.append({"tokens": rows, "scores": scores})
        found.append({"settings": case, "answers": answers})
    torch.manual_seed(3)
    draws = []
    for temperature, k, p, least in [(1.0, 0, 1.0, 0.0), (0.5, 0, 1.0, 0.0), (2.0, 3, 1.0, 0.0), (1.0, 0, 0.7, 0.0),
                                     (1.0, 0, 0.05, 0.0), (1.0, 0, 1.0, 0.2), (1.3, 5, 0.8, 0.1), (0.7, 1, 0.9, 0.5)]:
        scores = torch.randn(1, 9) * 2
        scores[0, 4] = scores[0, 2]
        warped = logits_process.TemperatureLogitsWarper(temperature)(None, scores)
        if k:
            warped = logits_process.TopKLogitsWarper(k)(None, warped)
        if p < 1:
            warped = logits_process.TopPLogitsWarper(p)(None, warped)
        if least:
            warped = logits_process.MinPLogitsWarper(least)(None, warped)
        draws.append({"temperature": temperature, "top_k": k, "top_p": p, "min_p": least, "scores": scores[0].tolist(),
                      "shares": warped.double().softmax(-1)[0].tolist()})
    TARGET.write_text(json.dumps({"prompts": PROMPTS, "cases": found, "draws": draws}) + "\n")


if __name__ == "__main__":
    main()
