#!/usr/bin/env python3
"""Writes tests/reference/blocks: small blocks of transformers, their input and their output.

Needs torch, transformers and safetensors. A file has the parameters by Weft's names, the input x (L, D), the output y (L, D), and the gradient of x
for the weights cos(0, 1, 2, ...) of the elements of y.
"""
import pathlib

import torch
from safetensors.torch import save_file
from transformers import Wav2Vec2ConformerConfig
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


OUTPUT.mkdir(parents=True, exist_ok=True)
conformer()
