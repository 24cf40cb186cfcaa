"""What an experiment is: a world, agents, presets, and the claims it has to bear out."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from reinstate.errors import UserError, nearest
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
    checks: Callable[[Settings, Results], list[Check]]
    reference_lines: Callable[[Settings], dict[str, float]]  # label → reward an episode

    def preset(self, name: str) -> Settings:
        if name not in self.presets:
            raise UserError(nearest("preset", name, self.presets))
        return self.presets[name]
