"""The original (2017) Transformer written in plain PyTorch and optimized for speed: fused projections, PyTorch's fused attention, one
matrix for both embeddings and the output, and logits of the real tokens only."""
import torch
from torch import nn
from torch.nn import functional


class Attention(nn.Module):
    def __init__(self, dim, heads, dropout):
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.into, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x, source=None, **seen):
        """Attention of x to itself, or to the source."""
        if source is None:
            query, key, value = self.into(x).chunk(3, -1)
        else:
            dim = x.shape[-1]
            query = functional.linear(x, self.into.weight[:dim], self.into.bias[:dim])
            key, value = functional.linear(source, self.into.weight[dim:], self.into.bias[dim:]).chunk(2, -1)
        query, key, value = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in (query, key, value))
        mixed = functional.scaled_dot_product_attention(query, key, value, dropout_p=self.dropout if self.training else 0.0, **seen)
        return self.out(mixed.transpose(1, 2).flatten(2))


class Layer(nn.Module):
    def __init__(self, dim, heads, width, dropout, attention_dropout, is_decoder):
        super().__init__()
        self.dropout = dropout
        self.attention = Attention(dim, heads, attention_dropout)
        self.cross = Attention(dim, heads, attention_dropout) if is_decoder else None
        self.up, self.down = nn.Linear(dim, width), nn.Linear(width, dim)
        self.norms = nn.ModuleList(nn.LayerNorm(dim) for _ in range(3 if is_decoder else 2))

    def joined(self, at, x, change):
        return self.norms[at](x + functional.dropout(change, self.dropout, self.training))

    def forward(self, x, mask, source=None):
        """The mask is that of the source; targets attend to earlier targets."""
        if source is None:
            x = self.joined(0, x, self.attention(x, attn_mask=mask))
        else:
            x = self.joined(0, x, self.attention(x, is_causal=True))
            x = self.joined(1, x, self.cross(x, source, attn_mask=mask))
        return self.joined(-1, x, self.down(functional.relu(self.up(x))))


def sinusoids(length, dim):
    angles = torch.arange(length)[:, None] / 10000.0 ** (torch.arange(0, dim, 2) / dim)
    return torch.cat([angles.sin(), angles.cos()], 1)


class TranslationModel(nn.Module):
    def __init__(self, vocabulary, dim, layers, heads, width, dropout, attention_dropout, length=256):
        super().__init__()
        self.words, self.dropout = nn.Embedding(vocabulary, dim), dropout
        self.register_buffer("positions", sinusoids(length, dim))
        self.encoder, self.decoder = (
            nn.ModuleList(Layer(dim, heads, width, dropout, attention_dropout, is_decoder) for _ in range(layers))
            for is_decoder in (False, True))
        nn.init.normal_(self.words.weight, std=dim**-0.5)
        for part in self.modules():
            if isinstance(part, nn.Linear):
                nn.init.xavier_uniform_(part.weight)
                nn.init.zeros_(part.bias)
        for part in self.modules():
            if isinstance(part, Attention):
                for matrix in part.into.weight.detach().split(dim):
                    nn.init.xavier_uniform_(matrix)

    def embedded(self, ids):
        x = self.words(ids) * self.words.embedding_dim**0.5 + self.positions[: ids.shape[1]]
        return functional.dropout(x, self.dropout, self.training)

    def forward(self, input_ids, attention_mask, decoder_input_ids, labels):
        source, x = self.embedded(input_ids), self.embedded(decoder_input_ids)
        mask = torch.zeros(attention_mask.shape, device=source.device).masked_fill(attention_mask == 0, float("-inf"))[:, None, None, :]
        for layer in self.encoder:
            source = layer(source, mask)
        for layer in self.decoder:
            x = layer(x, mask, source)
        logits = functional.linear(x[labels >= 0], self.words.weight)
        return functional.cross_entropy(logits.float(), labels[labels >= 0])

    def published_weights(self):
        """All weights under the names that MarianMTModel gives them."""
        told = {"model.shared.weight": self.words.weight}
        for side in ("encoder", "decoder"):
            told[f"model.{side}.embed_tokens.weight"] = self.words.weight
            told[f"model.{side}.embed_positions.weight"] = self.positions
            for number, layer in enumerate(getattr(self, side)):
                attentions = {"self_attn": layer.attention, "encoder_attn": layer.cross}
                norms = ["self_attn_layer_norm", "encoder_attn_layer_norm", "final_layer_norm"]
                if layer.cross is None:
                    del attentions["encoder_attn"], norms[1]
                parts = {"fc1": layer.up, "fc2": layer.down, **dict(zip(norms, layer.norms))}
                for name, attention in attentions.items():
                    parts[f"{name}.out_proj"] = attention.out
                    for kind in ("weight", "bias"):
                        for part, rows in zip("qkv", getattr(attention.into, kind).chunk(3)):
                            told[f"model.{side}.layers.{number}.{name}.{part}_proj.{kind}"] = rows
                for name, part in parts.items():
                    for kind in ("weight", "bias"):
                        told[f"model.{side}.layers.{number}.{name}.{kind}"] = getattr(part, kind)
        return {**told, "lm_head.weight": self.words.weight, "final_logits_bias": torch.zeros(1, self.words.num_embeddings)}
