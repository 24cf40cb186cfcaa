"""Records of `make torture` → tables: a header and rows."""

from collections import Counter
from typing import Any

Table = tuple[list[str], list[list[str]]]


def kills(document: dict[str, Any]) -> Table:
    """Show how often each command was disturbed, and what came of it."""
    counts: dict[str, Counter[str]] = {}
    for row in document["rows"]:
        found = counts.setdefault(f"`{row['command']}`", Counter())
        found.update({name: n for name, n in row.items() if isinstance(n, int)})
    counts["*all*"] = Counter(document["totals"])
    names = ["disturbances", *(n for n in document["totals"] if n not in ("cases", "disturbances"))]
    rows = [[name, *(f"{found[each]:,}" for each in names)] for name, found in counts.items()]
    return ["command", *names], rows


def disturbances(document: dict[str, Any]) -> Table:
    """Show how often each kind of disturbance was tried."""
    counts: Counter[str] = Counter()
    for row in document["rows"]:
        counts[row["disturbance"]] += row["disturbances"]
    return ["disturbance", "times"], [[name, f"{n:,}"] for name, n in counts.items()]


def readers(document: dict[str, Any]) -> Table:
    """Show how many damaged and hostile files each reader was given, and what it said."""
    rows = []
    for name, generators in document["readers"].items():
        ended: Counter[str] = Counter()
        for outcomes in generators.values():
            ended.update(outcomes)
        bad = ended.total() - ended["accepted"] - ended["refused"]
        rows.append([name, *(f"{n:,}" for n in (ended["accepted"], ended["refused"], bad))])
    total = document["ended"]
    rows.append(["*all*", *(f"{total[n]:,}" for n in ("accepted", "refused", "failed"))])
    return ["reader", "accepted", "refused in one line", "anything else"], rows


def long_runs(document: dict[str, Any]) -> Table:
    """Show what grew after the warm-up, and how wrong the time said to be left was."""
    rows = []
    for run in document["runs"]:
        first, last = run["samples"][0], run["samples"][-1]
        errors = [abs(error) for error in run["time_left_errors"].values()]
        rows.append(
            [
                f"`{run['run']}`",
                f"{run['steps']:,}",
                f"{run['grown_bytes'] / 1e6:+.1f} MB",
                f"{last['arrays']:,}",
                f"{first['files']} → {last['files']}",
                f"{max(errors):.0%}" if errors else "–",
            ]
        )
    header = ["run", "epochs or rounds", "host memory", "arrays on devices", "open files"]
    return [*header, "time left, at most off by"], rows
