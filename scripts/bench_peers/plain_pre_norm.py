"""Pre-norm models written in plain PyTorch: a GPT as in nanoGPT (fused query, key and value, PyTorch's fused attention, the
output matrix tied to the embedding), and a vision transformer."""
import torch
from torch import nn
from torch.nn import functional

from plain_model import attended, started


class Layer(nn.Module):
    def __init__(self, dim, heads, width, dropout, epsilon, is_causal):
        super().__init__()
        self.heads, self.dropout, self.is_causal = heads, dropout, is_causal
        self.into, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.up, self.down = nn.Linear(dim, width), nn.Linear(width, dim)
        self.first, self.second = nn.LayerNorm(dim, eps=epsilon), nn.LayerNorm(dim, eps=epsilon)
        self.gelu = "tanh" if is_causal else "none"   # as GPT-2 and as ViT have it

    def forward(self, x):
        x = x + functional.dropout(attended(self, self.first(x), is_causal=self.is_causal), self.dropout, self.training)
        hidden = self.down(functional.gelu(self.up(self.second(x)), approximate=self.gelu))
        return x + functional.dropout(hidden, self.dropout, self.training)


class Stack(nn.Module):
    def __init__(self, dim, layers, heads, width, dropout, epsilon, is_causal):
        super().__init__()
        self.layers = nn.Sequential(*(Layer(dim, heads, width, dropout, epsilon, is_causal) for _ in range(layers)))
        self.norm, self.dropout = nn.LayerNorm(dim, eps=epsilon), dropout

    def forward(self, x):
        return self.norm(self.layers(functional.dropout(x, self.dropout, self.training)))


class CausalModel(nn.Module):
    def __init__(self, vocabulary, length, **sizes):
        super().__init__()
        self.words, self.positions = nn.Embedding(vocabulary, sizes["dim"]), nn.Embedding(length, sizes["dim"])
        self.stack = Stack(epsilon=1e-5, is_causal=True, **sizes)
        started(self)
        for layer in self.stack.layers:   # residual projections are initialised smaller for deeper models
            for part in (layer.out, layer.down):
                nn.init.normal_(part.weight, std=0.02 / (2 * sizes["layers"]) ** 0.5)

    def forward(self, input_ids, labels, shift_labels):
        x = self.stack(self.words(input_ids) + self.positions.weight[: input_ids.shape[1]])
        logits = functional.linear(x, self.words.weight).flatten(0, 1)
        return functional.cross_entropy(logits.float(), shift_labels.flatten())


class ImageModel(nn.Module):
    def __init__(self, classes, side, patch, **sizes):
        super().__init__()
        dim, patches = sizes["dim"], (side // patch) ** 2
        self.patch, self.patches = patch, nn.Linear(3 * patch * patch, dim)
        self.first, self.positions = nn.Parameter(torch.zeros(1, 1, dim)), nn.Parameter(torch.zeros(1, patches + 1, dim))
        self.stack = Stack(epsilon=1e-12, is_causal=False, **sizes)
        self.classes = nn.Linear(dim, classes)
        started(self)
        for table in (self.first, self.positions):
            nn.init.normal_(table, std=0.02)

    def forward(self, pixel_values, labels):
        patches = functional.unfold(pixel_values, self.patch, stride=self.patch).transpose(1, 2)
        x = torch.cat([self.first.expand(len(patches), -1, -1), self.patches(patches)], 1) + self.positions
        return functional.cross_entropy(self.classes(self.stack(x)[:, 0]).float(), labels)
