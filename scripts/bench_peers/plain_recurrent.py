"""A recurrent language model written in plain PyTorch: in each layer a norm, an LSTM, its output projection and a residual
connection; the output matrix is tied to the embedding."""
from torch import nn
from torch.nn import functional

from plain_model import started


class Layer(nn.Module):
    def __init__(self, dim, width, dropout):
        super().__init__()
        self.norm, self.cell, self.out = nn.LayerNorm(dim, eps=1e-5), nn.LSTM(dim, width, batch_first=True), nn.Linear(width, dim)
        self.dropout = dropout

    def forward(self, x):
        return x + functional.dropout(self.out(self.cell(self.norm(x))[0]), self.dropout, self.training)


class CausalModel(nn.Module):
    def __init__(self, vocabulary, dim, layers, width, dropout):
        super().__init__()
        self.words, self.dropout = nn.Embedding(vocabulary, dim), dropout
        self.layers, self.norm = nn.Sequential(*(Layer(dim, width, dropout) for _ in range(layers))), nn.LayerNorm(dim, eps=1e-5)
        started(self)

    def forward(self, input_ids, labels, shift_labels):
        x = self.norm(self.layers(functional.dropout(self.words(input_ids), self.dropout, self.training)))
        logits = functional.linear(x, self.words.weight).flatten(0, 1)
        return functional.cross_entropy(logits.float(), shift_labels.flatten())
