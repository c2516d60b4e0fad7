#!/usr/bin/env python3
"""Writes tests/reference/attention: small layers of public libraries with attention other than softmax over all tokens, their input and their output.

Usage: scripts/make_attention_reference.py INFORMER     a directory with the repository zhouhaoyi/Informer2020
Needs torch, transformers, linformer, performer-pytorch, routing-transformer, x-transformers and safetensors. A file has the parameters by Weft's names, the input
x (L, D), the output y (L, D) before the output projection, which is the identity in the tests, and the gradient of x for the weights
cos(0, 1, 2, ...) of the elements of y.
"""
import functools
import pathlib
import sys

import torch
import transformers
from linformer import LinformerSelfAttention
from performer_pytorch.performer_pytorch import gaussian_orthogonal_random_matrix, linear_attention, softmax_kernel
from safetensors.torch import save_file
from routing_transformer import routing_transformer
from routing_transformer.routing_transformer import KmeansAttention
from transformers.models.longformer.modeling_longformer import LongformerSelfAttention
from transformers.models.nystromformer.modeling_nystromformer import NystromformerSelfAttention
from transformers.models.reformer.modeling_reformer import LSHSelfAttention
from transformers.models.xlnet.modeling_xlnet import XLNetRelativeAttention
from x_transformers.x_transformers import Attention

OUTPUT = pathlib.Path(__file__).resolve().parent.parent / "tests/reference/attention"
DIM, HEADS, LENGTH = 16, 2, 24


def lively(module):
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.4)
    return module.double().eval()


def stacked(*linears):
    return {"weight": torch.cat([linear.weight for linear in linears]), "bias": torch.cat([linear.bias for linear in linears])}


def named(prefix, tensors):
    return {f"{prefix}.{name}": tensor for name, tensor in tensors.items()}


def write(name, parameters, attend):
    x = torch.randn(LENGTH, DIM, generator=torch.Generator().manual_seed(2), dtype=torch.float64).requires_grad_()
    y = attend(x.unsqueeze(0)).reshape(LENGTH, -1)
    (y * torch.arange(y.numel(), dtype=torch.float64).cos().view_as(y)).sum().backward()
    tensors = {**parameters, "x": x, "y": y, "dx": x.grad}
    save_file({key: tensor.detach().float().contiguous() for key, tensor in tensors.items()}, OUTPUT / f"{name}.safetensors")


def longformer():
    config = transformers.LongformerConfig(hidden_size=DIM, num_attention_heads=HEADS, attention_window=[8], attention_probs_dropout_prob=0.0)
    layer = lively(LongformerSelfAttention(config, 0))
    is_global = torch.zeros(1, LENGTH, dtype=torch.bool)
    is_global[0, :2] = True
    attention_mask = torch.where(is_global, 10000.0, 0.0).double()

    def attend(x):
        return layer(x, attention_mask=attention_mask, is_index_masked=torch.zeros(1, LENGTH, dtype=torch.bool), is_index_global_attn=is_global,
                     is_global_attn=True)[0]

    write("longformer", named("qkv", stacked(layer.query, layer.key, layer.value)) |
          named("global_qkv", stacked(layer.query_global, layer.key_global, layer.value_global)), attend)


def nystrom():
    config = transformers.NystromformerConfig(hidden_size=DIM, num_attention_heads=HEADS, num_landmarks=6, segment_means_seq_len=LENGTH,
                                              conv_kernel_size=5, attention_probs_dropout_prob=0.0)
    layer = lively(NystromformerSelfAttention(config))
    layer.init_option = "exact"   # otherwise the iteration starts from a maximum over all heads and texts of the batch
    write("nystrom", named("qkv", stacked(layer.query, layer.key, layer.value)) | {"core.convolution": layer.conv.weight.view(HEADS, 5)},
          lambda x: layer(x)[0])


def reformer():
    """Texts that are not longer than a chunk: their attention is full, with shared queries and keys."""
    config = transformers.ReformerConfig(hidden_size=DIM, num_attention_heads=HEADS, attention_head_size=DIM // HEADS, lsh_attn_chunk_length=LENGTH,
                                         lsh_attention_probs_dropout_prob=0.0, is_decoder=False, num_hashes=2)
    layer = lively(LSHSelfAttention(config))
    write("reformer", {"query_key.weight": layer.query_key.weight, "query_key.bias": torch.zeros(DIM), "value.weight": layer.value.weight,
                       "value.bias": torch.zeros(DIM)}, lambda x: layer(x).hidden_states)


def routing():
    """Queries and keys are the same, with mean 0 and variance 1; the centroids are fixed."""
    attention = KmeansAttention(num_clusters=4, window_size=8, num_heads=HEADS, head_dim=DIM // HEADS).eval()
    query_key, value = (torch.nn.Linear(DIM, DIM) for _ in range(2))
    layer = lively(torch.nn.ModuleList([query_key, value, attention]))
    attention.kmeans.initted.fill_(True)
    attention.kmeans.means = torch.nn.functional.normalize(torch.randn(HEADS, 4, DIM // HEADS, generator=torch.Generator().manual_seed(2)), dim=-1)
    routing_transformer.scatter_mean = functools.partial(routing_transformer.scatter_mean, eps=1e-20)

    def attend(x):
        heads = lambda rows: rows.view(1, LENGTH, HEADS, -1).transpose(1, 2)
        shared = torch.nn.functional.layer_norm(heads(query_key(x)), [DIM // HEADS])
        return attention(shared, shared, heads(value(x)))[0].transpose(1, 2).flatten(2)

    write("routing", named("query_key", stacked(query_key)) | named("value", stacked(value)) | {"centroids": attention.kmeans.means}, attend)


def linformer():
    layer = lively(LinformerSelfAttention(DIM, seq_len=LENGTH + 4, k=6, heads=HEADS))
    layer.to_out = torch.nn.Identity()
    write("linformer", projections(layer) | {"key_reducer.weight": layer.proj_k.T, "value_reducer.weight": layer.proj_v.T}, layer)


def talking_heads():
    """x-transformers adds the projected scores to the scores."""
    layer = lively(Attention(DIM, heads=HEADS, dim_head=DIM // HEADS, pre_talking_heads=True, post_talking_heads=True))
    layer.to_out = torch.nn.Identity()
    mixed = {"core.talking_heads.scores": torch.eye(HEADS) + layer.attend.pre_softmax_talking_heads.weight.view(HEADS, HEADS).T,
             "core.talking_heads.weights": layer.attend.post_softmax_talking_heads.weight.view(HEADS, HEADS).T}
    write("talking_heads", projections(layer) | mixed, layer)


class Projected(torch.nn.Module):
    """Attention between heads (B, H, L, K), behind projections of the tokens."""

    def __init__(self, attend):
        super().__init__()
        self.to_q, self.to_k, self.to_v = (torch.nn.Linear(DIM, DIM, bias=False) for _ in range(3))
        self.attend = attend

    def forward(self, x):
        heads = [layer(x).view(1, LENGTH, HEADS, -1).transpose(1, 2) for layer in (self.to_q, self.to_k, self.to_v)]
        return self.attend(*heads).transpose(1, 2).flatten(2)


def projections(layer):
    return {"qkv.weight": torch.cat([layer.to_q.weight, layer.to_k.weight, layer.to_v.weight]), "qkv.bias": torch.zeros(3 * DIM)}


def performer():
    """Without the number that performer-pytorch adds to the features."""
    torch.manual_seed(3)
    features = gaussian_orthogonal_random_matrix(20, DIM // HEADS).double()

    def attend(q, k, v):
        return linear_attention(softmax_kernel(q, projection_matrix=features, is_query=True, eps=0),
                                softmax_kernel(k, projection_matrix=features, is_query=False, eps=0), v)

    layer = lively(Projected(attend))
    write("performer", projections(layer) | {"core.features.projection": features}, layer)


def informer():
    """With each key once in the sample of each query, so that the choice of queries is exact."""
    sys.path.insert(0, sys.argv[1])
    from models.attn import ProbAttention

    attention = ProbAttention(mask_flag=False, factor=2, attention_dropout=0.0)

    def attend(q, k, v):
        random, torch.randint = torch.randint, lambda most, size: torch.arange(most).expand(size[0], most)
        try:
            return attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), None)[0].transpose(1, 2)
        finally:
            torch.randint = random

    layer = lively(Projected(attend))
    write("informer", projections(layer), layer)


def transformer_xl():
    """XLNet has the relative positions of Transformer-XL."""
    config = transformers.XLNetConfig(d_model=DIM, n_head=HEADS, d_inner=DIM, n_layer=1, dropout=0.0)
    layer = lively(XLNetRelativeAttention(config))
    flat = lambda weight: weight.reshape(DIM, DIM).T
    frequencies = 1 / 10000 ** (torch.arange(0, DIM, 2, dtype=torch.float64) / DIM)
    angles = torch.arange(LENGTH, -LENGTH, -1, dtype=torch.float64).unsqueeze(1) * frequencies
    sinusoids = torch.cat([angles.sin(), angles.cos()], 1)

    def attend(x):
        heads = lambda weight, rows: torch.einsum("ibh,hnd->ibnd", rows, weight)
        rows = x.transpose(0, 1)
        return layer.rel_attn_core(heads(layer.q, rows), heads(layer.k, rows), heads(layer.v, rows), heads(layer.r, sinusoids.unsqueeze(1)))

    write("transformer_xl", {"qkv.weight": torch.cat([flat(layer.q), flat(layer.k), flat(layer.v)]), "qkv.bias": torch.zeros(3 * DIM),
                             "core.transformer_xl.content_bias": layer.r_w_bias, "core.transformer_xl.position_bias": layer.r_r_bias,
                             "core.transformer_xl.projection": flat(layer.r)}, attend)


OUTPUT.mkdir(parents=True, exist_ok=True)
torch.set_default_dtype(torch.float64)
for write_reference in (longformer, nystrom, reformer, routing, linformer, talking_heads, performer, informer, transformer_xl):
    write_reference()
