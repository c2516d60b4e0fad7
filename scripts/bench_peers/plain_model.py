"""A BERT written in plain PyTorch and optimized for speed: fused query, key and value, PyTorch's fused attention, and the
masked language model head on the masked tokens only."""
import torch
from torch import nn
from torch.nn import functional


def attended(layer, x, **seen):
    """Attention of a layer on x (rows, length, dim): a fused projection, PyTorch's fused attention, the output projection."""
    rows, length, dim = x.shape
    query, key, value = layer.into(x).view(rows, length, 3, layer.heads, dim // layer.heads).permute(2, 0, 3, 1, 4)
    mixed = functional.scaled_dot_product_attention(query, key, value, dropout_p=layer.dropout if layer.training else 0.0, **seen)
    return layer.out(mixed.transpose(1, 2).reshape(rows, length, dim))


class Layer(nn.Module):
    def __init__(self, dim, heads, width, dropout):
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.into, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.up, self.down = nn.Linear(dim, width), nn.Linear(width, dim)
        self.first, self.second = nn.LayerNorm(dim, eps=1e-12), nn.LayerNorm(dim, eps=1e-12)

    def forward(self, x, mask):
        x = self.first(x + functional.dropout(attended(self, x, attn_mask=mask), self.dropout, self.training))
        hidden = self.down(functional.gelu(self.up(x)))
        return self.second(x + functional.dropout(hidden, self.dropout, self.training))


class Encoder(nn.Module):
    def __init__(self, vocabulary, dim, layers, heads, width, dropout, positions=512):
        super().__init__()
        self.words, self.positions, self.segments = nn.Embedding(vocabulary, dim), nn.Embedding(positions, dim), nn.Embedding(2, dim)
        self.norm, self.dropout = nn.LayerNorm(dim, eps=1e-12), dropout
        self.layers = nn.ModuleList(Layer(dim, heads, width, dropout) for _ in range(layers))

    def forward(self, ids, seen):
        x = self.words(ids) + self.positions.weight[: ids.shape[1]] + self.segments.weight[0]
        x = functional.dropout(self.norm(x), self.dropout, self.training)
        mask = torch.zeros(seen.shape, dtype=x.dtype, device=x.device).masked_fill(seen == 0, float("-inf"))[:, None, None, :]
        for layer in self.layers:
            x = layer(x, mask)
        return x


def started(model):
    """Normal weights of deviation 0.02 and zero biases, as BERT has them."""
    for part in model.modules():
        if isinstance(part, (nn.Linear, nn.Embedding)):
            nn.init.normal_(part.weight, std=0.02)
        if isinstance(part, nn.Linear):
            nn.init.zeros_(part.bias)
    return model


class MaskedModel(nn.Module):
    def __init__(self, **sizes):
        super().__init__()
        dim = sizes["dim"]
        self.encoder, self.turn, self.norm = Encoder(**sizes), nn.Linear(dim, dim), nn.LayerNorm(dim, eps=1e-12)
        self.bias = nn.Parameter(torch.zeros(sizes["vocabulary"]))
        started(self)

    def forward(self, input_ids, attention_mask, labels):
        x = self.encoder(input_ids, attention_mask)[labels >= 0]
        x = self.norm(functional.gelu(self.turn(x)))
        logits = functional.linear(x, self.encoder.words.weight, self.bias)
        return functional.cross_entropy(logits.float(), labels[labels >= 0])


class ClassModel(nn.Module):
    def __init__(self, classes, **sizes):
        super().__init__()
        self.encoder, self.dropout = Encoder(**sizes), sizes["dropout"]
        self.pooler, self.classes = nn.Linear(sizes["dim"], sizes["dim"]), nn.Linear(sizes["dim"], classes)
        started(self)

    def forward(self, input_ids, attention_mask, labels):
        pooled = torch.tanh(self.pooler(self.encoder(input_ids, attention_mask)[:, 0]))
        logits = self.classes(functional.dropout(pooled, self.dropout, self.training))
        return functional.cross_entropy(logits.float(), labels)
