"""A dictionary of contexts, as a list of entries that is searched and sorted each time."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Vector = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(eq=False)  # entries are places, the same only as themselves
class Entry:
    key: Vector
    value: Vector
    written: int
    used: int
    merged: list[Vector] = field(default_factory=list)  # the keys that this one is the mean of


def distance_between(a: Vector, b: Vector, kind: str) -> float:
    if kind == "euclidean":
        return math.fsum((x - y) ** 2 for x, y in zip(a, b, strict=True))
    length_a, length_b = math.hypot(*a), math.hypot(*b)
    if length_a == 0 or length_b == 0:
        return 1.0  # a vector without direction is like nothing: cosine 0
    return 1 - math.fsum(x * y for x, y in zip(a, b, strict=True)) / (length_a * length_b)


def blend(distances: list[float], values: list[Vector], delta: float) -> tuple[Vector, list[float]]:
    """The mean of the values, each weighted by its share of the kernel 1 / (distance + δ)."""
    kernel = [1 / (d + delta) for d in distances]
    weights = [share / sum(kernel) for share in kernel]
    return sum(
        (w * v for w, v in zip(weights, values, strict=True)), np.zeros(len(values[0]))
    ), weights


class Dictionary:
    def __init__(self, capacity: int, k: int, distance: str, delta: float, value_size: int) -> None:
        self.capacity = capacity
        self.k = k
        self.distance = distance
        self.delta = delta
        self.value_size = value_size
        self.entries: list[Entry] = []
        self.events = 0

    def write(self, key: Vector, value: Vector) -> None:
        self.events += 1
        entry = Entry(key, value, written=self.events, used=self.events)
        for place, old in enumerate(self.entries):
            if np.array_equal(old.key, key):
                self.entries[place] = entry
                return
        if len(self.entries) < self.capacity:
            self.entries.append(entry)
            return
        # Entries read together are equally old; of those, the one in the first place goes.
        oldest = min(self.entries, key=lambda e: e.used)
        self.entries[self.entries.index(oldest)] = entry

    def read(self, query: Vector) -> tuple[Vector, list[Entry], list[float], list[float]]:
        """The value, and the neighbours with their weights and distances, nearest first."""
        self.events += 1

        def distance(entry: Entry) -> float:
            return distance_between(entry.key, query, self.distance)

        nearest_first = sorted(self.entries, key=lambda e: self._order(e, distance(e)))
        neighbours = nearest_first[: self.k]
        if not neighbours:
            return np.zeros(self.value_size), [], [], []
        for entry in neighbours:
            entry.used = self.events
        distances = [distance(e) for e in neighbours]
        value, weights = blend(distances, [e.value for e in neighbours], self.delta)
        return value, neighbours, weights, distances

    def _order(self, entry: Entry, distance: float) -> tuple[float, ...]:
        """Sort by it: the nearest comes first and, of equally near ones, the newest."""
        return distance, -entry.written


class Consolidated(Dictionary):
    """A dictionary in which keys within reach are one context."""

    def __init__(self, *settings: Any, merge: str, reach: float, recall: str) -> None:
        super().__init__(*settings)
        self.merge = merge
        self.reach = reach
        self.recall = recall

    def write(self, key: Vector, value: Vector) -> None:
        entry = self._same(key)
        if entry is None or self.merge == "none":
            super().write(key, value)
            return
        self.events += 1
        entry.merged = [*(entry.merged or [entry.key]), key]
        entry.key = np.mean(entry.merged, axis=0) if self.merge == "mean" else key
        entry.value, entry.written, entry.used = value, self.events, self.events

    def _same(self, key: Vector) -> Entry | None:
        """The entry of an identical key or else, if it is within reach, of the nearest."""
        for entry in self.entries:
            if np.array_equal(entry.key, key):
                return entry
        apart = [(distance_between(e.key, key, self.distance), e) for e in self.entries]
        within = [each for each in apart if each[0] <= self.reach]
        return min(within, key=lambda each: each[0])[1] if within else None

    def _order(self, entry: Entry, distance: float) -> tuple[float, ...]:
        if self.recall == "newest" and distance <= self.reach:
            return (-1.0, -entry.written)
        return super()._order(entry, distance)
