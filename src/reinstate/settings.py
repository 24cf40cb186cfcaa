"""The settings that all agents of an experiment share; to and from plain JSON values."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Generic, Literal, TypeVar, cast, get_args, get_origin, get_type_hints

from reinstate import rivals  # noqa: F401  (registers them)
from reinstate.agent import AGENTS, Maker, Network
from reinstate.errors import LARGEST_COUNT, UserError, brief, one_line, require_positive
from reinstate.evaluation import Evaluation
from reinstate.learner import A2C, Learner, Rates
from reinstate.memory import DND, MEMORIES, Memory
from reinstate.tasks.base import World

W = TypeVar("W", bound=World)
M = TypeVar("M", bound=Memory)

MAX_SEED = LARGEST_COUNT
LONGEST = 100  # characters of a value in a message
KIND = "kind"  # under this name a memory that is no DND says what it is


def require_seed(seed: int, name: str = "seed") -> None:
    """Refuse a seed that random numbers cannot start from."""
    if not 0 <= seed <= MAX_SEED:
        raise UserError(f"{name} must lie between 0 and {MAX_SEED}, not {brief(seed)}")


@dataclass(frozen=True)
class Settings(Generic[W, M]):
    """With an agent's name, everything that decides what a run computes."""

    task: W
    seeds: int = 1
    """How many agents are trained, each from its own seed."""
    first_seed: int = 0
    """The first seed; the others count on from it."""
    network: Network = field(default_factory=Network)
    memory: M = field(default_factory=cast(Any, DND))
    learner: A2C = field(default_factory=A2C)
    evaluation: Evaluation = field(default_factory=Evaluation)

    def __post_init__(self) -> None:
        require_positive(seeds=self.seeds)
        require_seed(self.first_seed, "first_seed")
        require_seed(self.seed_range[-1], "the last seed")
        require_seed(self.evaluation.seed, "evaluation.seed")
        if self.evaluation.seed in self.seed_range:
            raise UserError(
                f"evaluation.seed {self.evaluation.seed} is a training seed: choose another,"
                " so that agents are judged on fresh random numbers"
            )

    @property
    def seed_range(self) -> range:
        """The seeds, one after the other."""
        return range(self.first_seed, self.first_seed + self.seeds)

    def make_learner(self, agent: str | Maker, rates: Rates | None = None) -> Learner:
        """Make the learner of an agent, given by its name or by a way to make it."""
        make = AGENTS.find(agent) if isinstance(agent, str) else agent
        writes = self.task.episodes_per_epoch * self.task.writes_per_episode
        memory = self.for_agent(make).memory.fitted(writes)
        make_agent = partial(make, self.task, self.network)
        return Learner(self.task, make_agent, memory, self.learner, rates)

    def for_agent(self, agent: str | Maker) -> "Settings[W, Any]":
        """Return the settings with the memory that an agent has; most have the experiment's."""
        make = AGENTS.find(agent) if isinstance(agent, str) else agent
        if not hasattr(make, "memory_for"):
            return self
        return replace(self, memory=make.memory_for(self.memory, self.task, self.network))


def to_dict(settings: Any) -> dict[str, Any]:
    """Return settings as plain values, for a file; a memory that is no DND goes by its name."""
    values = dataclasses.asdict(settings)
    if isinstance(settings, Settings) and type(settings.memory) is not DND:
        kind = type(settings.memory)
        name = MEMORIES.name_of(kind)
        if name is None:
            raise UserError(
                f"memory {kind.__name__} has no name by which a file could bring it back: call"
                f' reinstate.register("memory", NAME, {kind.__name__}) first'
            )
        values["memory"][KIND] = name
    return values


def from_dict(kind: Any, values: Any, where: str = "settings") -> Any:
    """Make a settings dataclass of untrusted JSON values; a wrong name or type is a UserError."""
    plain = get_origin(kind) or kind  # Settings[BarcodeBandits, DND] → Settings, whose task is a W
    types = get_type_hints(plain)
    meant = dict(zip(getattr(plain, "__parameters__", ()), get_args(kind), strict=True))
    if not isinstance(values, Mapping):
        raise UserError(f"{where} must be an object, not {_short(repr(values))}")
    names = {f.name for f in dataclasses.fields(plain)}
    for problem, odd in (("unknown", values.keys() - names), ("missing", names - values.keys())):
        if odd:
            raise UserError(f"{where} has {problem} fields: {_short(', '.join(sorted(odd)))}")
    return plain(
        **{
            name: _value(meant.get(types[name], types[name]), values[name], f"{where}.{name}")
            for name in names
        }
    )


def recorded_settings(world: type[World], values: Any) -> Settings:
    """Make the settings of a recorded run of this world; what came later has its default."""
    kind, known = _memory_kind(values), completed(world, values)
    if isinstance(known, dict) and isinstance(known.get("memory"), Mapping):
        known["memory"] = {n: v for n, v in known["memory"].items() if n != KIND}
    settings: Settings = from_dict(Settings[world, kind], known)  # type: ignore[valid-type]
    return settings


def completed(world: type[World], values: Any) -> Any:
    """Add to recorded settings those that came later, at their defaults, which change nothing.

    Whatever else is wrong with them stays as it is, for `from_dict` or a comparison to find.
    """
    if not isinstance(values, Mapping):
        return values
    kinds = {**get_type_hints(Settings), "task": world, "memory": _memory_kind(values)}
    return {name: _with_defaults(kinds.get(name), section) for name, section in values.items()}


def _memory_kind(values: Any) -> Any:
    memory = values.get("memory") if isinstance(values, Mapping) else None
    name = memory.get(KIND) if isinstance(memory, Mapping) else None
    if name is None:
        return DND
    if not isinstance(name, str) or name not in MEMORIES:
        raise UserError(
            f"these settings have a memory {_short(repr(name))} that is not known here:"
            " install the package that brings it, or import the module that registers it"
        )
    return MEMORIES.find(name)


def _with_defaults(kind: Any, section: Any) -> Any:
    if not (dataclasses.is_dataclass(kind) and isinstance(section, Mapping)):
        return section
    hints = get_type_hints(kind)
    known = {name: _with_defaults(hints.get(name), value) for name, value in section.items()}
    later = {f.name: _default(f) for f in dataclasses.fields(kind) if f.name not in section}
    return {**{n: v for n, v in later.items() if v is not dataclasses.MISSING}, **known}


def _default(field: dataclasses.Field) -> Any:
    """Return the default of a field as a plain value, or MISSING."""
    if field.default_factory is dataclasses.MISSING:
        return field.default
    made: Any = field.default_factory()
    return to_dict(made) if dataclasses.is_dataclass(made) else made


def _value(kind: Any, value: Any, where: str) -> Any:
    if dataclasses.is_dataclass(kind):
        return from_dict(kind, value, where)
    if kind is float and type(value) is int:
        return float(value)
    if get_origin(kind) is Literal and value not in get_args(kind):
        raise UserError(
            f"{where} must be one of {', '.join(get_args(kind))}, not {_short(repr(value))}"
        )
    if kind in (int, float, bool, str) and type(value) is not kind:
        raise UserError(f"{where} must be {kind.__name__}, not {_short(repr(value))}")
    return value


def _short(text: str) -> str:
    """Cut what a file says to what a message has room for, on one line."""
    return one_line(text) if len(text) <= LONGEST else f"{one_line(text[:LONGEST])}…"


def differences(old: Mapping[str, Any], new: Mapping[str, Any], prefix: str = "") -> list[str]:
    """List the names in which two sets of settings differ, as `name: old → new`."""
    found: list[str] = []
    for name in sorted(old.keys() | new.keys()):
        a, b = old.get(name), new.get(name)
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            found += differences(a, b, f"{prefix}{name}.")
        elif a != b:
            found.append(f"{prefix}{name}: {_short(str(a))} → {_short(str(b))}")
    return found
