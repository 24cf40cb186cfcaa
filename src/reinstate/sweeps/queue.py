"""Jobs in a folder that many workers share, on this machine or on others.

    FOLDER/jobs/NAME.0.claim   somebody has it now (`reinstate.sweeps.claims`)
    FOLDER/jobs/NAME.json      what came of it: a result, or how often it failed, and why

A result is written by the one who has the claim, before the claim is given back, and is never
written again: whoever gets a claim looks for a result first.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

from reinstate.analysis.documents import checked
from reinstate.files import read_json, write_document
from reinstate.sweeps.claims import Claim, claim, claimed, claimed_by, is_claimed

NOT_OURS = "tell what came of a job of this program", "remove it, and its job is done again"


class Outcome(TypedDict):
    """What came of a job so far."""

    done: bool
    failures: int  # attempts that ended in an error, or in the death of the worker
    error: str  # of the last
    result: dict[str, Any]  # nothing, if it is not done


NOTHING: Outcome = {"done": False, "failures": 0, "error": "", "result": {}}


class Queue:
    """The jobs of a folder, by their names."""

    def __init__(self, folder: Path, names: Sequence[str], retries: int) -> None:
        self.jobs, self.names, self.retries = folder / "jobs", list(names), retries
        self._done: dict[str, Outcome] = {}  # which is final

    def outcome(self, name: str) -> Outcome:
        """Read what came of a job so far."""
        if name in self._done:
            return self._done[name]
        path = self.jobs / f"{name}.json"
        if not path.exists():
            return NOTHING
        found = checked(Outcome, read_json(path), path, *NOT_OURS)
        if found["done"]:
            self._done[name] = found
        return found

    def outcomes(self) -> dict[str, Outcome]:
        """Read what came of all jobs; those of which nothing has come are not looked for."""
        there = self._listed()
        return {n: self.outcome(n) if f"{n}.json" in there else NOTHING for n in self.names}

    def is_due(self, name: str, found: Outcome | None = None) -> bool:
        """Whether a job is neither done nor failed for good."""
        found = found or self.outcome(name)
        return not found["done"] and found["failures"] <= self.retries

    def due(self) -> list[str]:
        return [name for name, found in self.outcomes().items() if self.is_due(name, found)]

    def free(self) -> list[str]:
        """Name the jobs that a worker could begin with now."""
        some = claimed(self.jobs)
        return [n for n in self.due() if n not in some or not is_claimed(self.jobs, n)]

    def underway_here(self) -> list[str]:
        """Name the jobs that some process of this machine is at."""
        some = claimed(self.jobs)
        return [n for n in self.due() if n in some and is_claimed(self.jobs, n, here=True)]

    def has_job(self, worker: str) -> bool:
        """Whether a worker has claimed anything."""
        return bool(claimed_by(self.jobs, worker))

    def take(self, worker: str, leave: Sequence[str] = ()) -> Claim | None:
        """Claim the next job that is due; None if there is none but those to leave."""
        for name in self.free():
            held = None if name in leave else claim(self.jobs, name, worker)
            if held is None:
                continue
            if self.is_due(name):  # still: it may have been done since
                return held
            held.release()
        return None

    def _listed(self) -> set[str]:
        try:
            return set(os.listdir(self.jobs))
        except FileNotFoundError:
            return set()

    def finish(self, held: Claim, result: Mapping[str, Any]) -> bool:
        """Write down that a job is done; False if somebody else did, who had taken it over."""
        return self._write(held, {"done": True, "error": "", "result": {**result}})

    def fail(self, held: Claim, error: str) -> None:
        """Count a failure."""
        self._write(held, {"failures": self.outcome(held.name)["failures"] + 1, "error": error})

    def _write(self, held: Claim, news: Mapping[str, Any]) -> bool:
        mine = held.holds and not self.outcome(held.name)["done"]
        if mine:
            path = self.jobs / f"{held.name}.json"
            write_document(path, {**self.outcome(held.name), **news})
        held.release()
        return mine

    def bury(self, worker: str, error: str) -> list[str]:
        """Count a failure of the job that a dead worker had; name it, if nobody has it again."""
        counted = []
        for name in claimed_by(self.jobs, worker):
            if held := claim(self.jobs, name, f"{worker}, buried"):
                self.fail(held, error)
                counted.append(name)
        return counted
