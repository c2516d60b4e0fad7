#!/usr/bin/env python3
"""Documents read sentence by sentence, by Weft and by the BERT of transformers.

    pip install torch transformers safetensors
    WEFT=build/weft python3 scripts/parity/documents.py

Trains tiny models of both types of `model.document` for a few steps, loads their weights into a BertModel and into a BertEncoder for the layers
over the sentences, and compares the class probabilities of `weft predict`. They may differ by 2e-5. Then trains one on masked sentences, loads its
decoder into a BertLMHeadModel whose cross attention reads the state of the sentence, and compares the loss of `weft evaluate` on single documents:
it must be that of one of their sentences.
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
data: {{train: [{{path: {folder}/{rows}}}], cache_dir: {folder}/cache}}
objective: {{type: {objective}}}
train: {{duration: {steps} steps, batch_tokens: 120, optimizer: {{lr: 1e-2}}, precision: fp32, evaluate_every: never}}
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


def parts_of(tensors, prefix):
    """Weights of Weft's layers, with the names of a BertEncoder."""
    names = {"attention.output": "attention.output.dense", "attention_norm": "attention.output.LayerNorm",
             "cross_attention.projection": "crossattention.self.value", "cross_attention_norm": "crossattention.output.LayerNorm",
             "feed_forward.up": "intermediate.dense", "feed_forward.down": "output.dense", "feed_forward_norm": "output.LayerNorm"}
    found = {}
    for name, tensor in tensors.items():
        if not name.startswith(prefix):
            continue
        layer, rest = name[len(prefix):].split(".", 1)
        module, kind = rest.rsplit(".", 1)
        if module == "attention.qkv":
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


def sentence_states(bert, tensors, config, sentences):
    vectors = torch.stack([bert(input_ids=ids[None]).last_hidden_state[0, -1] for ids in sentences])
    vectors = vectors + tensors["document.encoder.position.weight"][:len(sentences)]
    return states(encoder_of(tensors, "document.encoder.layers.", config)(vectors[None]))[0]


def hibert(bert, tensors, config, sentences):
    return sentence_states(bert, tensors, config, sentences).mean(0)


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


def loaded(model):
    """The tensors, config, BertModel and tokenizer of a model directory."""
    tensors = load_file(model / "model.safetensors")
    options = json.loads((model / "config.json").read_text())
    config = transformers.BertConfig(**{key: options[key] for key in (
        "vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "max_position_embeddings",
        "layer_norm_eps", "hidden_act", "type_vocab_size")}, attn_implementation="eager")
    has_pooler = "bert.pooler.dense.weight" in tensors
    bert = transformers.BertModel(config, add_pooling_layer=has_pooler).eval()
    bert.load_state_dict({name[len("bert."):]: tensor for name, tensor in tensors.items() if name.startswith("bert.")})
    return tensors, options, config, bert, transformers.AutoTokenizer.from_pretrained(model)


def tokenized(tokenizer, text):
    return [tokenizer(sentence, truncation=True, max_length=SENTENCE_LENGTH, return_tensors="pt").input_ids[0] for sentence in text[:SENTENCES]]


def expected(model, kind, texts):
    tensors, options, config, bert, tokenizer = loaded(model)
    result = []
    for text in texts:
        vector = torch.tanh(bert.pooler.dense(kind(bert, tensors, config, tokenized(tokenizer, text))))
        logits = vector @ tensors["classifier.weight"].T + tensors["classifier.bias"]
        result.append(dict(zip(options["id2label"].values(), logits.softmax(0).tolist())))
    return result


def sentence_losses(model, texts):
    """For each text, the mean loss of each of its sentences, if that is the one that is masked."""
    tensors, _, config, bert, tokenizer = loaded(model)
    sizes = dict(config.to_dict(), num_hidden_layers=2, is_decoder=True, add_cross_attention=True)
    decoder = transformers.BertLMHeadModel(transformers.BertConfig(**sizes, attn_implementation="eager")).eval()
    weights = {f"bert.{name}": tensor for name, tensor in bert.state_dict().items() if name.startswith("embeddings.")}
    weights |= {f"bert.encoder.{name}": tensor for name, tensor in parts_of(tensors, "sentence_decoder.").items()}
    weights |= {name: tensor for name, tensor in tensors.items() if name.startswith("cls.")}
    for layer in decoder.bert.encoder.layer:   # queries and keys have no effect where there is one state
        layer.crossattention.output.dense.weight.copy_(torch.eye(DIM))
        layer.crossattention.output.dense.bias.zero_()
    missing, unexpected = decoder.load_state_dict(weights, strict=False)
    unread = ("cls.predictions.decoder.", "crossattention.self.query.", "crossattention.self.key.", "crossattention.output.dense.")
    if unexpected or any(not any(part in name for part in unread) for name in missing):
        raise SystemExit(f"the decoder has other weights: missing {missing}, unexpected {unexpected}")
    decoder.tie_weights()
    decoder.cls.predictions.decoder.bias = decoder.cls.predictions.bias
    result = []
    for text in texts:
        sentences = tokenized(tokenizer, text)
        losses = []
        for masked, ids in enumerate(sentences):
            hidden = torch.cat([ids[:1], torch.full((len(ids) - 2,), tokenizer.mask_token_id), ids[-1:]])
            rows = sentence_states(bert, tensors, config, sentences[:masked] + [hidden] + sentences[masked + 1:])
            shifted = torch.cat([ids[-1:], ids[1:-1]])
            logits = decoder(input_ids=shifted[None], encoder_hidden_states=rows[masked][None, None]).logits[0]
            losses.append(torch.nn.functional.cross_entropy(logits, ids[1:]).item())
        result.append(losses)
    return result


def check_classes(kind, more, folder, rng):
    rows = documents(40, rng)
    (folder / "rows.tsv").write_text("text\tlabel\n" + "".join(
        f"{' '.join(text)}\t{'long' if len(text) > 3 else 'short' if len(text) < 2 else 'other'}\n" for text in rows))
    write_config(folder, kind.__name__, more, rows="rows.tsv", objective="classify", steps=12)
    run("train", folder / "config.yaml")
    texts = documents(30, rng)
    output = run("predict", folder / "run/last", text="".join(json.dumps({"text": " ".join(text)}) + "\n" for text in texts))
    found = [json.loads(line)["scores"] for line in output.splitlines()]
    wanted = expected(folder / "run/last", kind, texts)
    worst = max(abs(a[label] - b[label]) for a, b in zip(found, wanted) for label in b)
    spread = max(a[label] for a in found for label in a) - min(a[label] for a in found for label in a)
    print(f"{kind.__name__}: {len(found)} texts, largest difference {worst:.1e}, probabilities differ by up to {spread:.2f}", flush=True)
    return worst < 2e-5 and spread > 0.1 and len(found) == len(texts)


def check_masked_sentences(folder, rng):
    def write(name, texts):
        (folder / name).write_text("".join("\n".join(text) + "\n\n" for text in texts))
    write("texts.txt", [text for text in documents(60, rng) if len(text) > 1])
    write_config(folder, "hibert", "", rows="texts.txt", objective="masked_sentence, mask_sentence_prob: 1, random_sentence_prob: 0", steps=40)
    run("train", folder / "config.yaml")
    texts = [text for text in documents(20, rng) if 2 <= len(text) <= SENTENCES]
    wanted = sentence_losses(folder / "run/last", texts)
    worst, spread = 0, 0
    for text, losses in zip(texts, wanted):
        write("one.txt", [text])
        found = json.loads(run("evaluate", folder / "run/last", "--json", "--data", folder / "one.txt"))["eval_loss"]
        worst = max(worst, min(abs(found - loss) for loss in losses))
        spread = max(spread, max(losses) - min(losses))
    print(f"masked sentences: {len(texts)} documents, largest difference {worst:.1e}, losses of sentences differ by up to {spread:.2f}", flush=True)
    return worst < 2e-5 and spread > 0.1


def write_config(folder, kind, more, **rest):
    (folder / "config.yaml").write_text(CONFIG.format(type=kind, more=more, folder=folder, layers=4, dim=DIM, heads=HEADS, width=WIDTH, length=LENGTH,
                                                      sentences=SENTENCES, sentence_length=SENTENCE_LENGTH, seed=3, **rest))


def main():
    rng = torch.Generator().manual_seed(5)
    checks = [lambda folder: check_classes(hibert, "", folder, rng), lambda folder: check_classes(hi_transformer, ", stacks: 2", folder, rng),
              lambda folder: check_masked_sentences(folder, rng)]
    passed = []
    for check in checks:
        with tempfile.TemporaryDirectory(prefix="weft-parity-") as work, torch.no_grad():
            passed.append(check(pathlib.Path(work)))
    sys.exit(0 if all(passed) else 1)


if __name__ == "__main__":
    main()
