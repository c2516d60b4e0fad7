#!/usr/bin/env python3
"""Writes tests/reference/elmo: a small model of ELMo's authors (arXiv:1802.05365) as a model directory of Weft, and the top-layer states
that their program has computed for three sentences.

Usage: scripts/make_elmo_reference.py FIXTURES
FIXTURES: tests/fixtures/model of allenai/bilm-tf (Apache-2.0). Needs numpy, h5py and safetensors.
"""
import json, pathlib, sys

import h5py
import numpy as np
from safetensors.numpy import save_file

OUTPUT = pathlib.Path(__file__).resolve().parent.parent / "tests/reference/elmo"
# Their rows of characters after the 256 bytes, and ours. Bytes 0 and 1 occur in no text: they become the begin and the end of a text.
TEXT_BEGIN, TEXT_END, BEGIN, END, PADDING = range(256, 261)
OUR_BEGIN, OUR_END, OUR_PADDING = 256, 257, 258
GATES = [0, 2, 1, 3]   # TensorFlow's LSTM has input, candidate, forget, output; ours input, forget, candidate, output


def spelling(characters, length):
    row = [OUR_BEGIN, *characters[:length - 2], OUR_END]
    return row + [OUR_PADDING] * (length - len(row))


def lstm(weights, name):
    """Our tensors of a layer."""
    kernel, bias, projection = weights["W_0"][...], weights["B"][...], weights["W_P_0"][...]
    blocks = np.split(kernel.T, 4)
    kernel = np.concatenate([blocks[gate] for gate in GATES])
    bias = np.concatenate([np.split(bias, 4)[gate] for gate in GATES])
    inputs = kernel.shape[1] - projection.shape[1]
    return {f"{name}.input.weight": kernel[:, :inputs], f"{name}.input.bias": np.zeros_like(bias), f"{name}.hidden.weight": kernel[:, inputs:],
            f"{name}.hidden.bias": bias, f"{name}.projection.weight": projection.T}


def main(fixtures):
    options = json.loads((fixtures / "options.json").read_text())
    cnn, sizes = options["char_cnn"], options["lstm"]
    sentences = [texts[0].split() for texts in json.loads((fixtures / "lm_embeddings_sentences.json").read_text())]
    words = sorted({word for sentence in sentences for word in sentence})
    length = cnn["max_characters_per_token"]
    spellings = [spelling([0], length), spelling([1], length), *(spelling(list(word.encode()), length) for word in words)]
    ids = {word: i + 2 for i, word in enumerate(words)}

    weights = h5py.File(fixtures / "lm_weights.hdf5")
    table = weights["char_embed"][...]
    tensors = {"embeddings.spelling": np.array(spellings, dtype=np.int64),
               "embeddings.characters": np.concatenate([[table[TEXT_BEGIN], table[TEXT_END]], table[2:256], [table[BEGIN], table[END], table[PADDING]]]),
               "embeddings.projection.weight": weights["CNN_proj/W_proj"][...].T, "embeddings.projection.bias": weights["CNN_proj/b_proj"][...]}
    for i in range(len(cnn["filters"])):
        kernel = weights[f"CNN/W_cnn_{i}"][0]   # (width, C, filters)
        tensors[f"embeddings.filters_{i}.weight"] = kernel.reshape(-1, kernel.shape[2]).T
        tensors[f"embeddings.filters_{i}.bias"] = weights[f"CNN/b_cnn_{i}"][...]
    for i in range(cnn["n_highway"]):
        theirs = weights[f"CNN_high_{i}"]
        tensors |= {f"embeddings.highway_{i}.transform.weight": theirs["W_transform"][...].T,
                    f"embeddings.highway_{i}.transform.bias": theirs["b_transform"][...],
                    f"embeddings.highway_{i}.gate.weight": theirs["W_carry"][...].T,
                    f"embeddings.highway_{i}.gate.bias": theirs["b_carry"][...] + 2}   # ours adds -2
    for side, direction in enumerate(["forward", "backward"]):
        for layer in range(sizes["n_layers"]):
            tensors |= lstm(weights[f"RNN_{side}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"], f"layers.{layer}.{direction}")
    dim = 2 * sizes["projection_dim"]
    tensors |= {"output": np.zeros((len(spellings), dim // 2)), "output_bias": np.zeros(len(spellings))}

    OUTPUT.mkdir(parents=True, exist_ok=True)
    save_file({name: np.ascontiguousarray(tensor if tensor.dtype == np.int64 else tensor.astype(np.float32)) for name, tensor in tensors.items()},
              OUTPUT / "model.safetensors", metadata={"format": "pt"})
    (OUTPUT / "config.json").write_text(json.dumps(dict(
        architectures=["WeftElmoForBidirectionalLM"], model_type="weft-elmo", vocab_size=len(spellings), hidden_size=dim,
        num_layers=sizes["n_layers"], cell_width=sizes["dim"], residual=sizes["use_skip_connections"], dropout=0,
        cell=dict(type="lstm", forget_bias=1, projection=sizes["projection_dim"], cell_clip=sizes["cell_clip"], projection_clip=sizes["proj_clip"]),
        embedding=dict(type="characters", character_dim=cnn["embedding"]["dim"], filter_widths=[width for width, _ in cnn["filters"]],
                       filters=[count for _, count in cnn["filters"]], highways=cnn["n_highway"], max_characters=length),
        bos_token_id=0, eos_token_id=1, pad_token_id=None), indent=1) + "\n")
    expected = {}
    for k, sentence in enumerate(sentences):
        states = h5py.File(fixtures / f"lm_embeddings_{k}.hdf5")["0"][...]   # (2, words, D / 2)
        expected[f"ids_{k}"] = np.array([0, *(ids[word] for word in sentence), 1], dtype=np.int64)
        expected[f"states_{k}"] = np.concatenate(list(states), axis=1).astype(np.float32)
    save_file(expected, OUTPUT / "expected.safetensors")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
