"""Episodic memories in PyTorch; `reinstate.memory` has the originals.

`DND` and `Consolidating` hold the settings, `Contents` what lanes have stored. As in the originals
nothing is changed in place: a write or a read returns the new contents. `EpisodicMemory` is a
module that keeps them.
"""

from __future__ import annotations  # the documentation is built without PyTorch

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from reinstate.errors import UserError, require_choices, require_not_negative, require_positive
from reinstate.interop.torch.cell import Module, require_shape

TINY = 1e-12  # keeps the direction of a zero vector, and its gradient, finite


class Contents(NamedTuple):
    """What a DND holds; leading dimensions are lanes, each with a memory of its own."""

    keys: Tensor  # (…, capacity, key_size)
    values: Tensor  # (…, capacity, value_size)
    written: Tensor  # (…, capacity) the number of the write that filled the slot; 0: it is empty
    used: Tensor  # (…, capacity) when it was last written or read
    merged: Tensor  # (…, capacity) how many writes the key stands for
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
            merged=torch.zeros(*batch, self.capacity, **integers),
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
        slot, same = self._slot(contents, key.detach())
        merged = torch.where(same, _at(contents.merged, slot), 0) + 1
        key = self._merge(_at(contents.keys, slot, 1), key, merged[..., None])
        here = torch.arange(self.capacity, device=slot.device) == slot[..., None]
        here = here & where[..., None]
        now, writes = contents.clock + where, contents.writes + where
        return Contents(
            keys=torch.where(here[..., None], key[..., None, :], contents.keys),
            values=torch.where(here[..., None], value[..., None, :], contents.values),
            written=torch.where(here, writes[..., None], contents.written),
            used=torch.where(here, now[..., None], contents.used),
            merged=torch.where(here, merged[..., None], contents.merged),
            writes=writes,
            clock=now,
        )

    def _slot(self, contents: Contents, key: Tensor) -> tuple[Tensor, Tensor]:
        """Find where a write under this key goes, and whether that slot is its own."""
        same = (contents.keys == key[..., None, :]).all(-1) & (contents.written > 0)
        # Empty slots were never used, so they come first; a match comes before everything.
        return contents.used.masked_fill(same, -1).argmin(-1), same.any(-1)

    def _merge(self, old: Tensor, new: Tensor, count: Tensor) -> Tensor:
        """Return the key of a slot that had `old` and gets `new`, the count-th it stands for."""
        return new

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
        ranks = self._rank(contents, self._distances(contents.keys.detach(), query))
        ranks = ranks.masked_fill(contents.written == 0, torch.finfo(ranks.dtype).max)
        slots = []
        for _ in range(self.k):
            tied = ranks == ranks.amin(-1, keepdim=True)
            slots.append(contents.written.masked_fill(~tied, -1).argmax(-1, keepdim=True))
            ranks = ranks.scatter(-1, slots[-1], torch.inf)
        return torch.cat(slots, dim=-1)

    def _rank(self, contents: Contents, distances: Tensor) -> Tensor:
        """Say which neighbours come first: those of the lowest rank, (…, capacity)."""
        return distances

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


@dataclass(frozen=True)
class Consolidating(DND):
    """A dictionary of contexts rather than of exposures: keys within reach are one context."""

    merge: Literal["none", "replace", "mean"] = "mean"
    """What a write does with the nearest key, if that is within reach."""
    reach: float = 0.0
    """The distance within which keys are taken for one context; 0: only identical ones are."""
    recall: Literal["nearest", "newest"] = "nearest"
    """Which of the neighbours within reach comes first on reading."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_not_negative(reach=self.reach)

    def _slot(self, contents: Contents, key: Tensor) -> tuple[Tensor, Tensor]:
        slot, identical = super()._slot(contents, key)
        if self.merge == "none" or not self.reach:
            return slot, identical  # at 0, not all keys of one direction: their distance is 0 too
        distances = self._distances(contents.keys.detach(), key)
        distance, nearest = distances.masked_fill(contents.written == 0, torch.inf).min(-1)
        within = ~identical & (distance <= self.reach)
        return torch.where(within, nearest, slot), identical | within

    def _merge(self, old: Tensor, new: Tensor, count: Tensor) -> Tensor:
        if self.merge != "mean":
            return new
        return torch.where(count == 1, new, old + (new - old) / count)  # the first replaces another

    def _rank(self, contents: Contents, distances: Tensor) -> Tensor:
        if self.recall == "nearest":
            return distances
        newest = -contents.written.to(distances.dtype)
        return torch.where(distances <= self.reach, newest, distances)


class EpisodicMemory(Module):
    """A dictionary as a module: what it holds are buffers, which move and are saved with it.

    Calling it reads. As in the paper, gradients reach queries but nothing that is stored; where
    they should, use the dictionary itself.
    """

    def __init__(self, dictionary: DND, key_size: int, value_size: int, *batch: int) -> None:
        super().__init__()
        self.dictionary, self._sizes = dictionary, (key_size, value_size, *batch)
        for name, tensor in dictionary.empty(*self._sizes)._asdict().items():
            self.register_buffer(name, tensor)

    @property
    def contents(self) -> Contents:
        """What it holds."""
        return Contents(*(getattr(self, name) for name in Contents._fields))

    def forward(self, query: Tensor) -> Retrieval:
        """Combine the nearest neighbours, and note that they were used."""
        found, contents = self.dictionary.read(self.contents, query)
        self._hold(contents)
        return found

    def write(self, key: Tensor, value: Tensor, where: Tensor | None = None) -> None:
        """Store a value, in the lanes of `where`."""
        values = key.detach(), value.detach()
        self._hold(self.dictionary.write(self.contents, *values, where))

    def reset(self, where: Tensor | None = None) -> None:
        """Forget everything, in the lanes of `where`, such as those whose epoch is over."""
        contents = self.contents
        gone = torch.ones_like(contents.writes, dtype=torch.bool) if where is None else where
        for name, old in contents._asdict().items():
            lanes = gone.reshape(*gone.shape, *[1] * (old.dim() - gone.dim()))
            setattr(self, name, old.masked_fill(lanes, 0))

    def _hold(self, contents: Contents) -> None:
        for name, tensor in contents._asdict().items():
            setattr(self, name, tensor)


def _at(table: Tensor, slot: Tensor, axes: int = 0) -> Tensor:
    """Take one row of each lane from a table with so many axes behind that of the rows."""
    place = slot.reshape(*slot.shape, 1, *[1] * axes)
    return table.take_along_dim(place, dim=-1 - axes).squeeze(-1 - axes)


def _norm(x: Tensor) -> Tensor:
    return (x**2).sum(-1).clamp(min=TINY).sqrt()
