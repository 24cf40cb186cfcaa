"""Rivals beside ours: PyTorch at many batch sizes, and our learner without a memory."""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from typing import Any, NamedTuple

import jax

from reinstate.bench.cases import Case, Shelf, case_of
from reinstate.bench.timing import cores, rates, ratio, take_turns
from reinstate.runs.progress import Reporter

EXPERIMENT, OURS, PLAIN = "barcode-bandits", "epl2rl", "l2rl"  # what the rival is written for
BATCHES = {"cpu": (1, 16, 128, 1024, 2048, 4096)}
LARGE_BATCHES = (1, 256, 4096, 32768, 131072)
CALL = 0.2  # seconds that one call should take: an episode of one lane is over at once
MOST = 100  # episodes of a call


class Entry(NamedTuple):
    """Something that takes its turn."""

    name: str
    steps: int  # per call
    run: Any
    told: Mapping[str, Any]


def installed() -> bool:
    """Tell whether there is a PyTorch to compare with."""
    return find_spec("torch") is not None


def compare(
    preset: str, repeats: int, reporter: Reporter, shelf: Shelf, batches: Sequence[int] = ()
) -> dict[str, Any]:
    """Let ours and all rivals take turns; return rates, and how many times as fast ours is."""
    ours, platform = case_of(EXPERIMENT, OURS, preset), jax.default_backend()
    with reporter.working("rivals: compiling ours"):
        entries = [
            _jax("reinstate", ours, shelf),
            _jax("reinstate", _one_lane(ours), shelf),
            _jax("reinstate without memory", case_of(EXPERIMENT, PLAIN, preset), shelf),
        ]
    sizes = batches or BATCHES.get(platform, LARGE_BATCHES)
    threads = sorted({1, cores()}) if platform == "cpu" else [cores()]
    if installed():
        entries += [_pytorch(ours, lanes, each) for lanes in sizes for each in threads]
    else:
        reporter.note('PyTorch is not installed, which rivals need: pip install "reinstate[bench]"')
    with reporter.working(f"rivals: {len(entries)} programs take turns"):
        seconds = take_turns({place: each.run for place, each in enumerate(entries)}, repeats)

    def row(place: int, entry: Entry) -> dict[str, Any]:
        pair = (entries[0].steps, seconds[0]), (entry.steps, seconds[place])
        rate = rates(entry.steps, seconds[place])
        return {"name": entry.name, **entry.told, "steps_per_second": rate, "ours": ratio(*pair)}

    rows = [row(place, each) for place, each in enumerate(entries)]
    beside = {"one_lane": best(rows, batch=1), "at_its_best": best(rows)}
    known = {name: row for name, row in beside.items() if row}
    return {**ours.told, **_versions(), "rows": rows, **known}


def _versions() -> dict[str, str]:
    if not installed():
        return {}
    import torch

    return {"torch": str(torch.__version__)}


def _one_lane(case: Case) -> Case:
    settings = case.settings
    learner = replace(settings.learner, lanes=1)
    return case._replace(settings=replace(settings, seeds=1, learner=learner))


def _jax(name: str, case: Case, shelf: Shelf) -> Entry:
    program = shelf.get("train", case)
    lanes = case.settings.seeds * case.settings.learner.lanes
    return Entry(name, program.steps, program, {"batch": lanes})


def _pytorch(case: Case, lanes: int, threads: int) -> Entry:
    from reinstate.bench.pytorch import Rival

    rival = Rival(case.settings, lanes)
    _train(rival, 1, threads)  # what is only done once
    began = time.perf_counter()
    _train(rival, 1, threads)
    episodes = min(MOST, max(1, math.ceil(CALL / (time.perf_counter() - began))))
    told = {"batch": lanes, "threads": threads}
    run = partial(_train, rival, episodes, threads)
    return Entry("PyTorch", episodes * lanes * case.settings.task.episode_length, run, told)


def _train(rival: Any, episodes: int, threads: int) -> None:
    import torch

    torch.set_num_threads(threads)
    rival.train(episodes)


def best(rows: Sequence[Mapping[str, Any]], **wanted: Any) -> Mapping[str, Any] | None:
    """Return the fastest of PyTorch's rows that are like this."""
    found = [
        row
        for row in rows
        if row["name"] == "PyTorch" and all(row[name] == value for name, value in wanted.items())
    ]
    return max(found, key=lambda row: float(row["steps_per_second"]["median"]), default=None)
