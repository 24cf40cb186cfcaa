"""The paper's DND in PyTorch; `reinstate.memory` is the original.

`DND` holds the settings, `Contents` what lanes have stored. As in the original nothing is changed
in place: a write or a read returns the new contents.
"""

from __future__ import annotations  # the documentation is built without PyTorch

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from reinstate.errors import UserError, require_choices, require_positive
from reinstate.interop.torch.cell import require_shape

TINY = 1e-12  # keeps the direction of a zero vector, and its gradient, finite


class Contents(NamedTuple):
    """What a DND holds; leading dimensions are lanes, each with a memory of its own."""

    keys: Tensor  # (…, capacity, key_size)
    values: Tensor  # (…, capacity, value_size)
    written: Tensor  # (…, capacity) the number of the write that filled the slot; 0: it is empty
    used: Tensor  # (…, capacity) when it was last written or read
    writes: Tensor  # (…) so far
    clock: Tensor  # (…) writes and reads so far


class Retrieval(NamedTuple):
    """What a DND finds."""

    value: Tensor  # (…, value_size) weighted mean of the neighbours' values; zeros if there is none
    slots: Tensor  # (…, k) where the neighbours are, nearest first
    weights: Tensor  # (…, k) sum to 1; a missing neighbour has 0
    distances: Tensor  # (…, k) infinite where a neighbour is missing
    written: Tensor  # (…, k) the number of the write that stored it, from 1; 0 where it is missing
    values: Tensor  # (…, k, value_size) the neighbours' own
    kernel: Tensor  # (…, k) κ of each, of which weights are the shares; 0 where it is missing
    writes: Tensor  # (…) all that there were before


@dataclass(frozen=True)
class DND:
    """The paper's dictionary: cell states by context, of which the nearest are combined.

    Gradients reach queries, keys and values. The paper's reach no stored state: write
    `state.c.detach()` for that.
    """

    capacity: int = 100
    """Slots; when all are taken, a new key replaces the least recently used."""
    k: int = 1
    """Neighbours a read combines."""
    distance: Literal["cosine", "euclidean"] = "cosine"
    """Cosine distance, or squared Euclidean."""
    delta: float = 1e-3
    """The kernel's softening, 1 / (distance + delta), after Pritzel et al. 2017."""

    def __post_init__(self) -> None:
        require_positive(capacity=self.capacity, k=self.k, delta=self.delta)
        require_choices(self)
        if self.k > self.capacity:
            raise UserError(
                f"k = {self.k} neighbours need as many slots, and capacity is {self.capacity}:"
                " raise capacity or lower k"
            )

    def empty(
        self,
        key_size: int,
        value_size: int,
        *batch: int,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> Contents:
        """Return dictionaries without entries, one per lane of the leading dimensions `batch`."""
        floats: Any = {"device": device, "dtype": dtype}
        integers: Any = {"device": device, "dtype": torch.long}
        return Contents(
            keys=torch.zeros(*batch, self.capacity, key_size, **floats),
            values=torch.zeros(*batch, self.capacity, value_size, **floats),
            written=torch.zeros(*batch, self.capacity, **integers),
            used=torch.zeros(*batch, self.capacity, **integers),
            writes=torch.zeros(batch, **integers),
            clock=torch.zeros(batch, **integers),
        )

    def write(
        self, contents: Contents, key: Tensor, value: Tensor, where: Tensor | None = None
    ) -> Contents:
        """Store a value over the same key if it is there, else in the least recently used slot.

        `where`, booleans (…), names the lanes that write, such as those whose episode is over; by
        default all of them do.
        """
        lanes = self._lanes(contents)
        require_shape("key", key, (*lanes, contents.keys.shape[-1]))
        require_shape("value", value, (*lanes, contents.values.shape[-1]))
        if where is None:
            where = torch.ones(lanes, dtype=torch.bool, device=contents.writes.device)
        require_shape("where", where, lanes)
        key, value = key.to(contents.keys.dtype), value.to(contents.values.dtype)
        same = (contents.keys == key[..., None, :]).all(-1) & (contents.written > 0)
        # Empty slots were never used, so they come first; a match comes before everything.
        slot = contents.used.masked_fill(same, -1).argmin(-1)  # the first of those
        here = torch.arange(self.capacity, device=slot.device) == slot[..., None]
        here = here & where[..., None]
        now, writes = contents.clock + where, contents.writes + where
        return Contents(
            keys=torch.where(here[..., None], key[..., None, :], contents.keys),
            values=torch.where(here[..., None], value[..., None, :], contents.values),
            written=torch.where(here, writes[..., None], contents.written),
            used=torch.where(here, now[..., None], contents.used),
            writes=writes,
            clock=now,
        )

    def filled(self, contents: Contents) -> Tensor:
        """Return how many slots are taken, (…)."""
        return (contents.written > 0).sum(-1)

    def read(self, contents: Contents, query: Tensor) -> tuple[Retrieval, Contents]:
        """Combine the k nearest neighbours, and note that they were used.

        weights_i = κ_i / Σ_j κ_j,  κ_i = 1 / (d(query, key_i) + δ)
        """
        require_shape("query", query, (*self._lanes(contents), contents.keys.shape[-1]))
        query = query.to(contents.keys.dtype)
        slots = self._nearest(contents, query.detach())
        written = contents.written.gather(-1, slots)
        values = contents.values.take_along_dim(slots[..., None], dim=-2)
        found = written > 0  # (…, k)
        # Distances again, of the chosen few alone: gradients need no pass over the whole memory.
        distances = self._distances(contents.keys.take_along_dim(slots[..., None], dim=-2), query)
        kernel = (1 / (distances + self.delta)).masked_fill(~found, 0)
        total = kernel.sum(-1, keepdim=True)
        weights = kernel / total.masked_fill(~found.any(-1, keepdim=True), 1)
        # A product and a sum, here and below: a GPU may be set to shorten matrix products, which
        # would blur what is recalled and confuse near neighbours.
        value = (weights[..., None] * values).sum(-2).to(values.dtype)
        now = contents.clock + 1
        # A slot that is still empty stays unused, or it would no longer be the first to be filled.
        stamp = torch.where(found, now[..., None], contents.used.gather(-1, slots))
        used = contents.used.scatter(-1, slots, stamp)
        distances = distances.masked_fill(~found, torch.inf)
        seen = (weights, distances, written, values, kernel, contents.writes)
        return Retrieval(value, slots, *seen), contents._replace(used=used, clock=now)

    def _nearest(self, contents: Contents, query: Tensor) -> Tensor:
        """Find the slots of the k nearest keys, (…, k); ties go to the newest."""
        ranks = self._distances(contents.keys.detach(), query)
        ranks = ranks.masked_fill(contents.written == 0, torch.finfo(ranks.dtype).max)
        slots = []
        for _ in range(self.k):
            tied = ranks == ranks.amin(-1, keepdim=True)
            slots.append(contents.written.masked_fill(~tied, -1).argmax(-1, keepdim=True))
            ranks = ranks.scatter(-1, slots[-1], torch.inf)
        return torch.cat(slots, dim=-1)

    def _distances(self, keys: Tensor, query: Tensor) -> Tensor:
        # In float32 at least: a short type would take neighbours for one another.
        precise = torch.promote_types(keys.dtype, torch.float32)
        keys, query = keys.to(precise), query.to(precise)[..., None, :]
        if self.distance == "euclidean":
            return ((keys - query) ** 2).sum(-1)
        distances = 1 - (keys * query).sum(-1) / (_norm(keys) * _norm(query))
        return torch.maximum(distances, torch.zeros_like(distances))

    def _lanes(self, contents: Contents) -> tuple[int, ...]:
        """Return the leading dimensions of contents; refuse those of another DND."""
        if contents.written.shape[-1:] != (self.capacity,):
            raise ValueError(
                f"contents have {contents.written.shape[-1]} slots, and capacity is"
                f" {self.capacity}: use the DND that made them"
            )
        return tuple(contents.writes.shape)


def _norm(x: Tensor) -> Tensor:
    return (x**2).sum(-1).clamp(min=TINY).sqrt()
