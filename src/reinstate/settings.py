"""The settings that all agents of an experiment share; to and from plain JSON values."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar, get_args, get_origin, get_type_hints

from reinstate.agent import Network
from reinstate.errors import UserError, require_positive
from reinstate.evaluation import Evaluation
from reinstate.learner import A2C, Learner, Rates
from reinstate.memory import DND
from reinstate.tasks.base import World

W = TypeVar("W", bound=World)

MAX_SEED = 2**31 - 1  # seeds travel as int32


@dataclass(frozen=True)
class Settings(Generic[W]):
    """With an agent's name, everything that decides what a run computes."""

    task: W
    seeds: int = 1
    """How many agents are trained, each from a seed of its own."""
    first_seed: int = 0
    """The first seed; the others count on from it."""
    network: Network = field(default_factory=Network)
    memory: DND = field(default_factory=DND)
    learner: A2C = field(default_factory=A2C)
    evaluation: Evaluation = field(default_factory=Evaluation)

    def __post_init__(self) -> None:
        require_positive(seeds=self.seeds)
        for name, seed in (
            ("first_seed", self.first_seed),
            ("the last seed", self.seed_range[-1]),
            ("evaluation.seed", self.evaluation.seed),
        ):
            if not 0 <= seed <= MAX_SEED:
                raise UserError(f"{name} must lie between 0 and {MAX_SEED}, not {seed}")
        if self.evaluation.seed in self.seed_range:
            raise UserError(
                f"evaluation.seed {self.evaluation.seed} is a training seed: choose another,"
                " so that agents are judged on fresh random numbers"
            )

    @property
    def seed_range(self) -> range:
        return range(self.first_seed, self.first_seed + self.seeds)

    def make_learner(self, agent: str, rates: Rates | None = None) -> Learner:
        memory = self.memory.fitted(self.task.episodes_per_epoch * self.task.writes_per_episode)
        return Learner(self.task, agent, self.network, memory, self.learner, rates)


def to_dict(settings: Any) -> dict[str, Any]:
    return dataclasses.asdict(settings)


def from_dict(kind: Any, values: Any, where: str = "settings") -> Any:
    """A settings dataclass from untrusted JSON values; a wrong name or type is a UserError."""
    plain = get_origin(kind) or kind  # Settings[BarcodeBandits] → Settings, whose task is a W
    types = get_type_hints(plain)
    meant = dict(zip(getattr(plain, "__parameters__", ()), get_args(kind), strict=True))
    if not isinstance(values, Mapping):
        raise UserError(f"{where} must be an object, not {values!r}")
    names = {f.name for f in dataclasses.fields(plain)}
    for problem, odd in (("unknown", values.keys() - names), ("missing", names - values.keys())):
        if odd:
            raise UserError(f"{where} has {problem} fields: {', '.join(sorted(odd))}")
    return plain(
        **{
            name: _value(meant.get(types[name], types[name]), values[name], f"{where}.{name}")
            for name in names
        }
    )


def completed(task: type[World], values: Any) -> Any:
    """Recorded settings with those that came after them at their defaults, which change nothing.

    Whatever else is wrong with them stays as it is, for `from_dict` or a comparison to find.
    """
    if not isinstance(values, Mapping):
        return values
    kinds = {**get_type_hints(Settings), "task": task}
    return {name: _with_defaults(kinds.get(name), section) for name, section in values.items()}


def _with_defaults(kind: Any, section: Any) -> Any:
    if not (dataclasses.is_dataclass(kind) and isinstance(section, Mapping)):
        return section
    later = {f.name: f.default for f in dataclasses.fields(kind) if f.name not in section}
    return {**{n: v for n, v in later.items() if v is not dataclasses.MISSING}, **section}


def _value(kind: Any, value: Any, where: str) -> Any:
    if dataclasses.is_dataclass(kind):
        return from_dict(kind, value, where)
    if kind is float and type(value) is int:
        return float(value)
    if get_origin(kind) is Literal and value not in get_args(kind):
        raise UserError(f"{where} must be one of {', '.join(get_args(kind))}, not {value!r}")
    if kind in (int, float, bool, str) and type(value) is not kind:
        raise UserError(f"{where} must be {kind.__name__}, not {value!r}")
    return value


def differences(old: Mapping[str, Any], new: Mapping[str, Any], prefix: str = "") -> list[str]:
    """The names in which two sets of settings differ, as `name: old → new`."""
    found: list[str] = []
    for name in sorted(old.keys() | new.keys()):
        a, b = old.get(name), new.get(name)
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            found += differences(a, b, f"{prefix}{name}.")
        elif a != b:
            found.append(f"{prefix}{name}: {a} → {b}")
    return found
