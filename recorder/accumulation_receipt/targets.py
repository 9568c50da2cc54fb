"""Counting the labels that take part in a loss."""

from __future__ import annotations

from typing import Any, Optional, Sequence


def count_targets(
    labels: Any,
    ignore_index: int = -100,
    shift: bool = True,
    attention_mask: Any = None,
    document_ids: Any = None,
) -> Any:
    """Valid targets of a microbatch: labels that take part in the loss.

    Args:
        labels: [T] or [rows, T], a torch tensor, NumPy array or nested lists.
        ignore_index: the label that takes no part (PyTorch's and Transformers' default).
        shift: position t is predicted at t - 1, so the first label of each row has no prediction. False where the
            data set shifted already, for encoder-decoder models and for classifiers.
        attention_mask: [rows, T], 0 at padding. Labels there do not count. Only for losses that leave them out;
            a loss that knows labels alone counts them unless they are ``ignore_index``.
        document_ids: [rows, T], which packed document each position belongs to. A target whose prediction stands
            in another document does not count.

    Returns:
        A plain int, except for a tensor on an accelerator: then a 0-dimensional tensor there, so that nothing waits.
    """
    if hasattr(labels, "detach"):
        return _count_tensor(labels, ignore_index, shift, attention_mask, document_ids)
    rows = _rows(labels)
    masks = _rows(attention_mask) if attention_mask is not None else None
    documents = _rows(document_ids) if document_ids is not None else None
    for name, other in (("attention_mask", masks), ("document_ids", documents)):
        if other is not None and [len(row) for row in other] != [len(row) for row in rows]:
            raise ValueError(f"{name} has another shape than labels")
    return sum(
        _count_row(row, ignore_index, shift, masks[at] if masks else None, documents[at] if documents else None)
        for at, row in enumerate(rows)
    )


def _count_row(
    row: Sequence[int], ignore_index: int, shift: bool, mask: Optional[Sequence[int]], documents: Optional[Sequence[int]]
) -> int:
    counted = 0
    for at, label in enumerate(row):
        if label == ignore_index or (mask is not None and not mask[at]):
            continue
        if shift and at == 0:
            continue
        # Where the prediction stands, and the position its target came from.
        source, target = (at - 1, at) if shift else (at, min(at + 1, len(row) - 1))
        if documents is not None and documents[source] != documents[target]:
            continue
        counted += 1
    return counted


def _count_tensor(labels: Any, ignore_index: int, shift: bool, attention_mask: Any, document_ids: Any) -> Any:
    from .deferred import on_host

    counts = labels != ignore_index
    for name, other in (("attention_mask", attention_mask), ("document_ids", document_ids)):
        if other is not None and other.shape != labels.shape:
            raise ValueError(f"{name} has another shape than labels")
    if attention_mask is not None:
        counts = counts & (attention_mask.to(labels.device) != 0)
    if document_ids is not None:
        documents = document_ids.to(labels.device)
        same = documents[..., 1:] == documents[..., :-1]
        counts = counts.clone()
        if shift:
            counts[..., 1:] &= same
        else:
            counts[..., :-1] &= same
    if shift:
        counts = counts[..., 1:]
    total = counts.sum()
    return int(total) if on_host(total) else total


def _rows(labels: Any) -> list[list[int]]:
    plain = labels.tolist() if hasattr(labels, "tolist") else labels
    return list(plain) if plain and hasattr(plain[0], "__len__") else [plain]
