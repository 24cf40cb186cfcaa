"""What an experiment is: a world, agents, presets, and the claims it has to bear out."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from reinstate.baselines.optimum import Values
from reinstate.errors import UserError, nearest
from reinstate.evaluation import Record
from reinstate.settings import Settings
from reinstate.tasks.base import World

Results = dict[str, Any]  # per agent, as in results.json


class Check(NamedTuple):
    """A statement of the paper, tested."""

    claim: str
    value: float
    bound: str  # what the value is held against, in words
    holds: bool


@dataclass(frozen=True)
class Experiment:
    name: str
    title: str
    section: str
    summary: str
    world: type[World]
    agents: tuple[str, ...]  # those the paper shows
    presets: dict[str, Settings]
    optimum: Callable[[Any], Values]  # of the task: see baselines/optimum.py
    ceilings: dict[str, str]  # agent → the optimum that it cannot exceed
    lines: dict[str, str]  # label in figures → the optimum that it marks
    baselines: Callable[[Settings], dict[str, Record]]  # other players, by name
    checks: Callable[[Results, Values], list[Check]]

    def preset(self, name: str) -> Settings:
        if name not in self.presets:
            raise UserError(nearest("preset", name, self.presets))
        return self.presets[name]
