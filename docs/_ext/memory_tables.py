"""A record of benchmarks/memories.py → tables: a header and rows."""

from typing import Any

Table = tuple[list[str], list[list[str]]]


def costs(document: dict[str, Any]) -> Table:
    """Show what an episode asks of a memory, by entries and dimensions."""
    rows = [
        [
            f"{each['entries']:,}",
            f"{each['size']:,}",
            *(written(each[way]["best"]) for way in ("episode", "episode_k", "write")),
        ]
        for each in document["rows"]
    ]
    k = document["k"]
    return ["entries", "dimensions", "read and write", f"with k = {k}", "write alone"], rows


def compared(document: dict[str, Any]) -> Table:
    """Show how many times as long a plain dictionary takes."""
    rows = [
        [f"{each['entries']:,}", *(_times(each, way) for way in ("episode", "episode_k", "write"))]
        for each in document["rows"]
        if "plain_write" in each
    ]
    return ["entries", "read and write", f"with k = {document['k']}", "write alone"], rows


def _times(row: dict[str, Any], way: str) -> str:
    plain, ours = row[f"plain_{way}"]["best"], row[way]["best"]
    return f"{written(plain)}: × {plain / ours:.1f}"


def written(seconds: float) -> str:
    """Write seconds in the unit that suits them."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} µs"
