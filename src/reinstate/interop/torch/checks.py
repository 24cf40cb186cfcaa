"""Mistakes with tensors, told in words."""

from __future__ import annotations  # the documentation is built without PyTorch

from typing import Any, Literal

import torch
from torch import Tensor

Kind = Literal["floats", "integers", "booleans"]
INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
FIXES = {
    "floats": "convert it by .float() or, if it holds categories, by one_hot first",
    "integers": "convert it by .long()",
    "booleans": "convert it by .bool()",
}


def require_tensor(
    name: str, tensor: Any, kind: Kind, shape: tuple[int, ...], whose: str = ""
) -> None:
    """Refuse what is no tensor of a kind (TypeError) or has another shape (ValueError)."""
    require_kind(name, tensor, kind)
    if tuple(tensor.shape) != shape:
        raise ValueError(
            f"{name} has shape {tuple(tensor.shape)}, expected {shape}{whose and ', '}{whose}:"
            " all that goes into one call has the same leading dimensions"
        )


def require_kind(name: str, tensor: Any, kind: Kind) -> None:
    """Refuse what is no tensor, or of another kind of numbers (TypeError)."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{name} is no tensor but {type(tensor).__name__}: use torch.as_tensor")
    found = {
        "floats": tensor.is_floating_point(),
        "integers": tensor.dtype in INTEGERS,
        "booleans": tensor.dtype == torch.bool,
    }
    if not found[kind]:
        raise TypeError(f"{name} is of {tensor.dtype}, expected {kind}: {FIXES[kind]}")


def leading(name: str, tensor: Any, size: int, whose: str) -> tuple[int, ...]:
    """Return the leading dimensions of a tensor of floats whose last one must have a size."""
    require_kind(name, tensor, "floats")
    if tensor.ndim == 0 or tensor.shape[-1] != size:
        raise ValueError(
            f"{name} has shape {tuple(tensor.shape)}, expected (…, {size}): its last dimension must"
            f" be {whose}"
        )
    return tuple(tensor.shape[:-1])
