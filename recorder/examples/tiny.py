"""What the examples train: a small decoder on random tokens. Nothing here is of interest to a reader of manifests."""

from __future__ import annotations

import random
from typing import Iterator

import torch
from torch import Tensor, nn

VOCABULARY = 64
IGNORED = -100

#: Labels and tokens of one microbatch: two sequences, padded on the right. [2, T]
Batch = dict[str, Tensor]


class TinyDecoder(nn.Module):
    """Embedding, one causal mixing layer, one feed-forward layer; called and answering as Transformers' models are."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, width)
        self.mix = nn.GRU(width, width, batch_first=True)
        self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.SiLU(), nn.Linear(4 * width, width))
        self.head = nn.Linear(width, VOCABULARY, bias=False)
        for parameter in self.parameters():
            nn.init.normal_(parameter, std=0.3)

    def forward(self, input_ids: Tensor, labels: Tensor) -> dict[str, Tensor]:
        hidden, _ = self.mix(self.embed(input_ids))
        return {"logits": self.head(hidden + self.feed(hidden))}


def cross_entropy(logits: Tensor, labels: Tensor, reduction: str) -> Tensor:
    """Next-token cross-entropy in binary32, or binary64 for a binary64 model."""
    kept = logits if logits.dtype == torch.float64 else logits.float()
    return nn.functional.cross_entropy(
        kept[:, :-1].reshape(-1, VOCABULARY), labels[:, 1:].reshape(-1), ignore_index=IGNORED, reduction=reduction
    )


def sequences(count: int, seed: int) -> list[dict[str, list[int]]]:
    """Token sequences of very unequal length, the prompt's labels ignored; each has at least one valid target."""
    chosen = random.Random(seed)
    found = []
    for _ in range(count):
        length = chosen.randint(3, 7) if chosen.random() < 0.5 else chosen.randint(3, 24)
        tokens = [chosen.randrange(2, VOCABULARY) for _ in range(length)]
        prompt = chosen.randint(0, length - 2)
        found.append({"input_ids": tokens, "labels": [IGNORED] * prompt + tokens[prompt:]})
    return found


def collate(rows: list[dict[str, list[int]]]) -> Batch:
    """Pads on the right: tokens with 0, labels with the ignore index."""
    longest = max(len(row["input_ids"]) for row in rows)

    def padded(name: str, filler: int) -> Tensor:
        return torch.tensor([row[name] + [filler] * (longest - len(row[name])) for row in rows])

    return {"input_ids": padded("input_ids", 0), "labels": padded("labels", IGNORED)}


def microbatches(count: int, seed: int) -> list[Batch]:
    """Microbatches of two sequences."""
    rows = sequences(2 * count, seed)
    return [collate(rows[2 * at : 2 * at + 2]) for at in range(count)]


def windows(batches: list[Batch], steps: int) -> Iterator[list[Batch]]:
    """Windows of K microbatches, the last perhaps shorter."""
    for begin in range(0, len(batches), steps):
        yield batches[begin : begin + steps]
