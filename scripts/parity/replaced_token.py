#!/usr/bin/env python3
"""ELECTRA's loss with tied embeddings (arXiv:2003.10555), computed by transformers and by Weft.

    pip install torch==2.13.0 transformers==5.23.0 safetensors
    python3 scripts/parity/replaced_token.py [--target DIR] [--seed N]

Writes a discriminator, `generator/` below it, a batch with masked tokens, and the results of transformers: both losses, the tokens that are
sampled from the generator's predictions, and the gradients. The random numbers are Philox's, reimplemented here. Without --target
these are the files of tests/reference/replaced_token; tests/objectives/replaced_token_test.cpp reads them, and has others written to read too.
"""
import argparse
import json
import os
import pathlib
import sys

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
sys.dont_write_bytecode = True

import torch
import transformers
from safetensors.torch import save_file

TARGET = pathlib.Path(__file__).resolve().parent.parent.parent / "tests/reference/replaced_token"
VOCABULARY, MASK, LENGTHS, WEIGHT = 24, 4, [6, 3, 5], 50.0
SIZES = dict(vocab_size=VOCABULARY, embedding_size=6, num_hidden_layers=2, max_position_embeddings=10, pad_token_id=0, type_vocab_size=2)
DISCRIMINATOR = dict(SIZES, hidden_size=8, num_attention_heads=2, intermediate_size=12)
GENERATOR = dict(SIZES, hidden_size=4, num_attention_heads=1, intermediate_size=10, num_hidden_layers=1)
WORD = (1 << 64) - 1


def finalised(value):
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & WORD
    return value ^ (value >> 31)


def mix(a, b):
    return finalised((finalised((a + 0x9E3779B97F4A7C15) & WORD) + b + 0xBB67AE8584CAA73B) & WORD)


def philox(counter, key):
    """Philox4x32 of 10 rounds (Salmon et al., 2011)."""
    low = (1 << 32) - 1
    for _ in range(10):
        a, b = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [(b >> 32) ^ counter[1] ^ key[0], b & low, (a >> 32) ^ counter[3] ^ key[1], a & low]
        key = [(key[0] + 0x9E3779B9) & low, (key[1] + 0xBB67AE85) & low]
    return counter


def uniform(seed, step, place, purpose=12):
    """The number of [0, 1) behind a draw of src/base/random.h."""
    low = (1 << 32) - 1
    key = mix(mix(seed, purpose), step >> 32)
    block = philox([0, step & low, place & low, place >> 32], [key & low, key >> 32])
    return ((block[0] | (block[1] << 32)) >> 11) * 2.0 ** -53


def make(cls, config, rng):
    model = cls(transformers.ElectraConfig(**config)).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            is_scale = parameter.dim() == 1 and name.endswith("weight")
            parameter.copy_(0.4 * torch.randn(parameter.shape, generator=rng) + (1.0 if is_scale else 0.0))
    return model


def batch_of(rng):
    """Packed tokens: the text, the text with masked tokens, and their positions."""
    text = torch.randint(5, VOCABULARY, (sum(LENGTHS),), generator=rng)
    rows = torch.randperm(sum(LENGTHS), generator=rng)[:6].sort().values
    ids = text.clone()
    ids[rows] = MASK
    types = torch.randint(0, 2, (sum(LENGTHS),), generator=rng)
    offsets = torch.tensor([0] + LENGTHS).cumsum(0)
    return dict(ids=ids, types=types, offsets=offsets, target_rows=rows, targets=text[rows]), text


def padded(packed):
    rows = torch.zeros(len(LENGTHS), max(LENGTHS), dtype=packed.dtype)
    for i, part in enumerate(packed.split(LENGTHS)):
        rows[i, :len(part)] = part
    return rows


def compute(discriminator, generator, batch, text, seed, step):
    mask = padded(torch.ones_like(text))
    labels = torch.full_like(text, -100)
    labels[batch["target_rows"]] = batch["targets"]
    labels = padded(labels).masked_fill(mask == 0, -100)
    common = dict(attention_mask=mask, token_type_ids=padded(batch["types"]))
    guessed = generator(input_ids=padded(batch["ids"]), labels=labels, **common)
    logits = guessed.logits[mask == 1][batch["target_rows"]]
    sums = torch.softmax(logits.detach(), -1).double().cumsum(-1)
    numbers = torch.tensor([uniform(seed, step, int(row)) for row in batch["target_rows"]], dtype=torch.double)
    drawn = torch.searchsorted(sums, (numbers * sums[:, -1]).unsqueeze(1), right=True).squeeze(1)
    replaced = text.clone()
    replaced[batch["target_rows"]] = drawn
    found = discriminator(input_ids=padded(replaced), labels=padded((replaced != text).long()), **common)
    (guessed.loss + WEIGHT * found.loss).backward()
    outputs = dict(drawn=drawn, generator_loss=guessed.loss.detach(), discriminator_loss=found.loss.detach())
    for prefix, model in ("", discriminator), ("generator.", generator):
        for name, parameter in model.named_parameters():
            outputs[f"gradient.{prefix}{name}"] = parameter.grad.clone()
    return outputs


def write(target, seed):
    rng = torch.Generator().manual_seed(seed)
    discriminator = make(transformers.ElectraForPreTraining, DISCRIMINATOR, rng)
    generator = make(transformers.ElectraForMaskedLM, GENERATOR, rng)
    with torch.no_grad():
        generator.generator_lm_head.bias[0] = -20.0  # nobody draws the padding, whose row transformers keeps from learning
    generator.electra.embeddings = discriminator.electra.embeddings
    generator.generator_lm_head.weight = generator.electra.embeddings.word_embeddings.weight
    batch, text = batch_of(rng)
    step = (1 << 33) + seed
    for folder, model in (target, discriminator), (target / "generator", generator):
        folder.mkdir(parents=True, exist_ok=True)
        model.save_pretrained(folder)
        (folder / "generation_config.json").unlink(missing_ok=True)
    outputs = compute(discriminator, generator, batch, text, seed, step)
    save_file(dict(batch, seed=torch.tensor(seed), step=torch.tensor(step)), target / "batch.safetensors")
    save_file({name: tensor.contiguous() for name, tensor in outputs.items()}, target / "outputs.safetensors")
    print(f"{target}: generator {outputs['generator_loss']:.4f}, discriminator {outputs['discriminator_loss']:.4f}, drawn "
          f"{json.dumps(outputs['drawn'].tolist())} for {json.dumps(batch['targets'].tolist())}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", type=pathlib.Path, default=TARGET)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    write(options.target, options.seed)


if __name__ == "__main__":
    main()
