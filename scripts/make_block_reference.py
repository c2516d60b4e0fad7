#!/usr/bin/env python3
"""Writes tests/reference/blocks: small blocks of transformers, of the authors' code and after papers, their input and their output.

Usage: scripts/make_block_reference.py TRANSFORMER_XL     a directory with the repository kimiyoung/transformer-xl
Needs torch, transformers and safetensors. A file has the parameters by Weft's names, the input x (L, D), the output y (L, D), and the gradient of x
for the weights cos(0, 1, 2, ...) of the elements of y.
"""
import pathlib
import sys

import torch
from safetensors.torch import save_file
from transformers import Wav2Vec2ConformerConfig
from transformers.models.t5.modeling_t5 import T5Attention
from transformers.models.wav2vec2_conformer.modeling_wav2vec2_conformer import Wav2Vec2ConformerEncoderLayer

OUTPUT = pathlib.Path(__file__).resolve().parent.parent / "tests/reference/blocks"
DIM, HEADS, WIDTH, LENGTH, KERNEL = 8, 2, 12, 11, 5


class TokenNorm(torch.nn.LayerNorm):
    """In place of the batch norm, which depends on the other texts: (B, D, L)."""

    def forward(self, x):
        return super().forward(x.transpose(1, 2)).transpose(1, 2)


def conformer():
    config = Wav2Vec2ConformerConfig(hidden_size=DIM, num_attention_heads=HEADS, intermediate_size=WIDTH, hidden_act="swish",
                                     conv_depthwise_kernel_size=KERNEL, position_embeddings_type=None)
    layer = Wav2Vec2ConformerEncoderLayer(config)
    layer.conv_module.batch_norm = TokenNorm(DIM)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.4)
    layer = layer.double().eval()
    convolution, attention = layer.conv_module, layer.self_attn
    projections = attention.linear_q, attention.linear_k, attention.linear_v
    modules = {"feed_forward_norm": layer.ffn1_layer_norm, "feed_forward.up": layer.ffn1.intermediate_dense,
               "feed_forward.down": layer.ffn1.output_dense, "attention_norm": layer.self_attn_layer_norm,
               "attention.output": attention.linear_out, "convolution_norm": convolution.layer_norm, "convolution.norm": convolution.batch_norm,
               "feed_forward_2_norm": layer.ffn2_layer_norm, "feed_forward_2.up": layer.ffn2.intermediate_dense,
               "feed_forward_2.down": layer.ffn2.output_dense, "block_norm.norm": layer.final_layer_norm}
    tensors = {f"{name}.{key}": value for name, module in modules.items() for key, value in module.named_parameters()}
    tensors |= {"attention.qkv.weight": torch.cat([each.weight for each in projections]),
                "attention.qkv.bias": torch.cat([each.bias for each in projections]),
                "convolution.input.weight": convolution.pointwise_conv1.weight.squeeze(2),
                "convolution.kernel": convolution.depthwise_conv.weight.squeeze(1),
                "convolution.output.weight": convolution.pointwise_conv2.weight.squeeze(2)}
    x = torch.randn(1, LENGTH, DIM, generator=generator).double().requires_grad_()
    y = layer(x)
    (y * torch.arange(y.numel(), dtype=torch.float64).cos().view_as(y)).sum().backward()
    tensors |= {"x": x[0], "y": y[0], "dx": x.grad[0]}
    save_file({key: value.detach().float().contiguous() for key, value in tensors.items()}, OUTPUT / "conformer.safetensors")


def transformer_xl():
    """Two layers over four segments, each with a memory of the last 7 tokens. The gradient is that of the last segment."""
    torch.version.cuda = torch.version.cuda or "0.0"  # which that code reads
    sys.path[:0] = [sys.argv[1] + "/pytorch", sys.argv[1] + "/pytorch/utils"]
    from mem_transformer import PositionalEmbedding, RelPartialLearnableDecoderLayer

    segments, length, memory = 4, 5, 7
    layers = torch.nn.ModuleList([RelPartialLearnableDecoderLayer(HEADS, DIM, DIM // HEADS, WIDTH, 0.0, dropatt=0.0) for _ in range(2)]).double()
    biases = torch.nn.ParameterList([torch.zeros(HEADS, DIM // HEADS) for _ in range(2)]).double()
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in [*layers.parameters(), *biases]:
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.4)
    x = torch.randn(segments * length, DIM, generator=generator).double().requires_grad_()
    memories, outputs = [x[:0].detach().unsqueeze(1)] * len(layers), []
    for segment in x.unsqueeze(1).split(length):
        keys = len(memories[0]) + length
        mask = torch.ones(length, keys).triu(1 + len(memories[0])).bool().unsqueeze(2)
        positions = PositionalEmbedding(DIM)(torch.arange(keys - 1, -1, -1.0)).double()
        hidden, inputs = segment, []
        for layer, own in zip(layers, memories):
            inputs.append(hidden.detach())
            hidden = layer(hidden, positions, *biases, dec_attn_mask=mask, mems=own)
        memories = [torch.cat([own, more])[-memory:] for own, more in zip(memories, inputs)]
        outputs.append(hidden[:, 0])
    y = torch.cat(outputs)
    (y[-length:] * torch.arange(length * DIM, dtype=torch.float64).cos().view(length, DIM)).sum().backward()
    tensors = {"x": x, "y": y, "dx": x.grad[-length:]}
    for index, layer in enumerate(layers):
        attention, feed_forward = layer.dec_attn, layer.pos_ff
        own = {"attention.qkv.weight": attention.qkv_net.weight, "attention.output.weight": attention.o_net.weight,
               "attention.core.transformer_xl.content_bias": biases[0], "attention.core.transformer_xl.position_bias": biases[1],
               "attention.core.transformer_xl.projection": attention.r_net.weight}
        for name, module in {"attention_norm": attention.layer_norm, "feed_forward.up": feed_forward.CoreNet[0],
                             "feed_forward.down": feed_forward.CoreNet[3], "feed_forward_norm": feed_forward.layer_norm}.items():
            own |= {f"{name}.{key}": value for key, value in module.named_parameters()}
        tensors |= {f"{index}.{key}": value for key, value in own.items()}
    save_file({key: value.detach().float().clone().contiguous() for key, value in tensors.items()}, OUTPUT / "transformer_xl.safetensors")


def tupe():
    """Two post-norm layers with the scores of arXiv:2006.15595, equations 10 and 12, as guolinke/TUPE computes them: norm and biases included."""
    generator = torch.Generator().manual_seed(1)
    length, width, buckets = LENGTH, DIM // HEADS, 6
    shapes = {"shared_positions.weight": (12, DIM), "shared_positions.bias.weight": (buckets, HEADS), "shared_positions.first": (2, HEADS),
              "shared_positions.norm.weight": (DIM,), "shared_positions.norm.bias": (DIM,)}
    shapes |= {f"shared_positions.{part}.{key}": shape for part in ["query", "key"] for key, shape in [("weight", (DIM, DIM)), ("bias", (DIM,))]}
    for layer in "01":
        for part, rows, columns in [("attention.qkv", 3 * DIM, DIM), ("attention.output", DIM, DIM), ("feed_forward.up", WIDTH, DIM),
                                    ("feed_forward.down", DIM, WIDTH)]:
            shapes |= {f"{layer}.{part}.weight": (rows, columns), f"{layer}.{part}.bias": (rows,)}
        for norm in ["attention_norm", "feed_forward_norm"]:
            shapes |= {f"{layer}.{norm}.weight": (DIM,), f"{layer}.{norm}.bias": (DIM,)}
    p = {name: (torch.randn(shape, generator=generator) * 0.4).double().requires_grad_() for name, shape in shapes.items()}
    x = torch.randn(length, DIM, generator=generator).double().requires_grad_()

    def linear(rows, name):
        return torch.nn.functional.linear(rows, p[name + ".weight"], p[name + ".bias"])

    def norm(rows, name):
        return torch.nn.functional.layer_norm(rows, (DIM,), p[name + ".weight"], p[name + ".bias"], 1e-5)

    def heads(rows):
        return rows.view(len(rows), HEADS, width).transpose(0, 1)

    rows = norm(p["shared_positions.weight"][:length], "shared_positions.norm")
    scale = (2 * width) ** -0.5
    positions = heads(linear(rows, "shared_positions.query")) @ heads(linear(rows, "shared_positions.key")).transpose(1, 2) * scale
    distance = torch.arange(length)[None] - torch.arange(length)[:, None]
    bucket = T5Attention._relative_position_bucket(distance, bidirectional=True, num_buckets=buckets, max_distance=8)
    positions = positions + p["shared_positions.bias.weight"][bucket].permute(2, 0, 1)
    positions[:, :, 0] = p["shared_positions.first"][1][:, None]
    positions[:, 0, :] = p["shared_positions.first"][0][:, None]
    hidden = x
    for layer in "01":
        query, key, value = [heads(part) for part in linear(hidden, f"{layer}.attention.qkv").chunk(3, 1)]
        mixed = (query @ key.transpose(1, 2) * scale + positions).softmax(-1) @ value
        output = linear(mixed.transpose(0, 1).reshape(length, DIM), f"{layer}.attention.output")
        hidden = norm(hidden + output, f"{layer}.attention_norm")
        inner = torch.nn.functional.gelu(linear(hidden, f"{layer}.feed_forward.up"))
        hidden = norm(hidden + linear(inner, f"{layer}.feed_forward.down"), f"{layer}.feed_forward_norm")
    (hidden * torch.arange(hidden.numel(), dtype=torch.float64).cos().view_as(hidden)).sum().backward()
    tensors = p | {"x": x, "y": hidden, "dx": x.grad, "dweight": p["shared_positions.weight"].grad}
    save_file({key: value.detach().float().clone().contiguous() for key, value in tensors.items()}, OUTPUT / "tupe.safetensors")


OUTPUT.mkdir(parents=True, exist_ok=True)
conformer()
tupe()
transformer_xl()
