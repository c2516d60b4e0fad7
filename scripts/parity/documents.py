#!/usr/bin/env python3
"""Documents read sentence by sentence, by Weft and by the BERT of transformers.

    pip install torch transformers safetensors
    WEFT=build/weft python3 scripts/parity/documents.py

Trains tiny models of both types of `model.document` for a few steps, loads their weights into a BertModel and into a BertEncoder for the layers
over the sentences, and compares the class probabilities of `weft predict`. They may differ by 2e-5.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
sys.dont_write_bytecode = True

import torch
import transformers
from safetensors.torch import load_file

WEFT = os.environ.get("WEFT", "weft")
DIM, HEADS, WIDTH, LENGTH, SENTENCES, SENTENCE_LENGTH = 16, 2, 32, 12, 4, 10
CONFIG = """model: {{type: bert, dim: {dim}, layers: {layers}, dropout: 0, attention: {{heads: {heads}}}, feed_forward: {{width: {width}}},
  position: {{length: {length}}}, init_std: 0.3,
  document: {{type: {type}, layers: 2, sentences: {sentences}, sentence_length: {sentence_length}{more}}}}}
tokenizer: {{type: wordpiece, vocab_size: 90}}
data: {{train: [{{path: {folder}/rows.tsv}}]}}
objective: {{type: classify}}
train: {{duration: 12 steps, batch_tokens: 120, optimizer: {{lr: 1e-2}}, precision: fp32, evaluate_every: never}}
run: {{directory: {folder}/run, seed: {seed}, device: cpu}}
"""
WORDS = "the red fox sees a green bird and then runs over some hill under rain again".split()


def documents(count, rng):
    """Texts as lists of sentences, also more and longer ones than the model reads."""
    def sentence():
        length = int(torch.randint(1, 12, (1,), generator=rng))
        words = [WORDS[i] for i in torch.randint(0, len(WORDS), (length,), generator=rng).tolist()]
        return " ".join(words).capitalize() + ".!?"[length % 3]
    return [[sentence() for _ in range(int(torch.randint(1, 7, (1,), generator=rng)))] for _ in range(count)]


def run(*command, text=None):
    done = subprocess.run([WEFT, *map(str, command)], input=text, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"weft {' '.join(map(str, command))}: {done.stderr}")
    return done.stdout


def parts_of(tensors, prefix, query_key_value="attention.qkv"):
    """Weights of Weft's layers, with the names of a BertEncoder."""
    names = {"attention.output": "attention.output.dense", "attention_norm": "attention.output.LayerNorm",
             "feed_forward.up": "intermediate.dense", "feed_forward.down": "output.dense", "feed_forward_norm": "output.LayerNorm"}
    found = {}
    for name, tensor in tensors.items():
        if not name.startswith(prefix):
            continue
        layer, rest = name[len(prefix):].split(".", 1)
        module, kind = rest.rsplit(".", 1)
        if module == query_key_value:
            for part, rows in zip(("query", "key", "value"), tensor.chunk(3)):
                found[f"layer.{layer}.attention.self.{part}.{kind}"] = rows
        else:
            found[f"layer.{layer}.{names[module]}.{kind}"] = tensor
    return found


def encoder_of(tensors, prefix, config):
    sizes = dict(config.to_dict(), num_hidden_layers=2)
    encoder = transformers.models.bert.modeling_bert.BertEncoder(transformers.BertConfig(**sizes, attn_implementation="eager")).eval()
    encoder.load_state_dict(parts_of(tensors, prefix))
    return encoder


def states(output):
    return output if isinstance(output, torch.Tensor) else output[0]


def pooled(rows, tensors, prefix):
    """A mean with weights softmax(u . tanh(W h + b))."""
    scores = torch.tanh(rows @ tensors[prefix + "dense.weight"].T + tensors[prefix + "dense.bias"]) @ tensors[prefix + "query.weight"].T
    return (scores.softmax(0) * rows).sum(0)


def hibert(bert, tensors, config, sentences):
    vectors = torch.stack([bert(input_ids=ids[None]).last_hidden_state[0, -1] for ids in sentences])
    vectors = vectors + tensors["document.encoder.position.weight"][:len(sentences)]
    return states(encoder_of(tensors, "document.encoder.layers.", config)(vectors[None]))[0].mean(0)


def hi_transformer(bert, tensors, config, sentences):
    rows = [bert.embeddings(input_ids=ids[None]) for ids in sentences]
    layers = iter(bert.encoder.layer)
    for name in "document.encoder.", "document.encoder_2.":
        layer = next(layers)
        rows = [states(layer(row)) for row in rows]
        vectors = torch.stack([row[0, -1] for row in rows]) + tensors[name + "position.weight"][:len(rows)]
        aware = states(encoder_of(tensors, name + "layers.", config)(vectors[None]))[0]
        rows = [torch.cat([row[:, :-1], vector[None, None]], 1) for row, vector in zip(rows, aware)]
        layer = next(layers)
        rows = [states(layer(row)) for row in rows]
    vectors = torch.stack([pooled(row[0], tensors, "document.sentence_vector.") for row in rows])
    return pooled(vectors, tensors, "pooling.")


def expected(model, kind, texts):
    tensors = load_file(model / "model.safetensors")
    options = json.loads((model / "config.json").read_text())
    config = transformers.BertConfig(**{key: options[key] for key in (
        "vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "max_position_embeddings",
        "layer_norm_eps", "hidden_act", "type_vocab_size")}, attn_implementation="eager")
    bert = transformers.BertModel(config).eval()
    bert.load_state_dict({name[len("bert."):]: tensor for name, tensor in tensors.items() if name.startswith("bert.")})
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    result = []
    for text in texts:
        sentences = [tokenizer(sentence, truncation=True, max_length=SENTENCE_LENGTH, return_tensors="pt").input_ids[0]
                     for sentence in text[:SENTENCES]]
        vector = torch.tanh(bert.pooler.dense(kind(bert, tensors, config, sentences)))
        logits = vector @ tensors["classifier.weight"].T + tensors["classifier.bias"]
        result.append(dict(zip(options["id2label"].values(), logits.softmax(0).tolist())))
    return result


def main():
    failed = 0
    rng = torch.Generator().manual_seed(5)
    for kind, more in (hibert, ""), (hi_transformer, ", stacks: 2"):
        with tempfile.TemporaryDirectory(prefix="weft-parity-") as work:
            folder = pathlib.Path(work)
            rows = documents(40, rng)
            (folder / "rows.tsv").write_text("text\tlabel\n" + "".join(
                f"{' '.join(text)}\t{'long' if len(text) > 3 else 'short' if len(text) < 2 else 'other'}\n" for text in rows))
            (folder / "config.yaml").write_text(CONFIG.format(
                type=kind.__name__, more=more, folder=folder, layers=4, dim=DIM, heads=HEADS, width=WIDTH, length=LENGTH,
                sentences=SENTENCES, sentence_length=SENTENCE_LENGTH, seed=3))
            run("train", folder / "config.yaml")
            texts = documents(30, rng)
            output = run("predict", folder / "run/last", text="".join(json.dumps({"text": " ".join(text)}) + "\n" for text in texts))
            found = [json.loads(line)["scores"] for line in output.splitlines()]
            with torch.no_grad():
                wanted = expected(folder / "run/last", kind, texts)
            worst = max(abs(a[label] - b[label]) for a, b in zip(found, wanted) for label in b)
            spread = max(a[label] for a in found for label in a) - min(a[label] for a in found for label in a)
            failed += not (worst < 2e-5 and spread > 0.1 and len(found) == len(texts))
            print(f"{kind.__name__}: {len(found)} texts, largest difference {worst:.1e}, probabilities differ by up to {spread:.2f}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
