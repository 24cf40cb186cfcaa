"""The settings that all agents of an experiment share; to and from plain JSON values."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Generic, TypeVar, cast

from reinstate import rivals  # noqa: F401  (registers them)
from reinstate.agent import AgentKind, Network, maker_of
from reinstate.errors import UserError, nearest, one_line, require_positive, require_seed
from reinstate.evaluation import Evaluation
from reinstate.files import convert
from reinstate.learner import A2C, Learner, Rates
from reinstate.memory import DND, MEMORIES, Memory
from reinstate.tasks.base import World

W = TypeVar("W", bound=World)
M = TypeVar("M", bound=Memory)

Value = int | float | bool | str
KIND = "kind"  # under this name a memory that is no DND says what it is
MEMORY_KIND = "memory-kind"  # what kind of memory is a setting by this name


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
        require_seed(first_seed=self.first_seed, **{"the last seed": self.seed_range[-1]})
        require_seed(**{"evaluation.seed": self.evaluation.seed})
        if self.evaluation.seed in self.seed_range:
            raise UserError(
                f"evaluation.seed {self.evaluation.seed} is a training seed: choose another,"
                " so that agents are evaluated on fresh random numbers"
            )

    @property
    def seed_range(self) -> range:
        """The seeds, one after the other."""
        return range(self.first_seed, self.first_seed + self.seeds)

    def make_learner(self, agent: AgentKind, rates: Rates | None = None) -> Learner:
        """Make the learner of an agent, given by its name or by a way to make it."""
        make = maker_of(agent)
        writes = self.task.episodes_per_epoch * self.task.writes_per_episode
        memory = self.for_agent(make).memory.fitted(writes)
        make_agent = partial(make, self.task, self.network)
        return Learner(self.task, make_agent, memory, self.learner, rates)

    def for_agent(self, agent: AgentKind) -> "Settings[W, Any]":
        """Return the settings with the memory that an agent has; most have the experiment's."""
        memory: Any = maker_of(agent).memory_for(self.memory, self.task, self.network)
        return replace(self, memory=memory)


def changed(
    settings: Settings[W, Any], values: Mapping[str, Any], parts: Mapping[str, Any] = {}
) -> Settings[W, Any]:
    """Replace parts of settings, as plain values, and values by name, as in {"memory.k": 5}.

    "memory-kind" is such a name: another kind of memory, whose settings are others.
    """
    if MEMORY_KIND in values:
        settings = replace(settings, memory=MEMORIES.find(str(values[MEMORY_KIND]))())
    plain = {**to_dict(settings), **parts}
    known = [name for name, _ in flat(plain)]
    for name, value in values.items():
        if name == MEMORY_KIND:
            continue
        if name not in known:
            raise UserError(nearest("setting", name, [*known, MEMORY_KIND]))
        *sections, last = name.replace("-", "_").split(".")
        section = plain
        for each in sections:
            section = section[each]
        section[last] = value
    return recorded_settings(type(settings.task), plain)


def flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Name nested values as the command does: learner.learning-rate."""
    for key, value in values.items():
        name = f"{prefix}{key.replace('_', '-')}"
        if isinstance(value, Mapping):
            yield from flat(value, f"{name}.")
        else:
            yield name, value


def read_pairs(flag: str, words: Iterable[str], example: str = "a=b") -> dict[str, str]:
    """Read NAME=VALUE words, each name once."""
    found: dict[str, str] = {}
    for word in words:
        name, _, value = word.partition("=")
        name = name.removeprefix("--")
        if name in found or not (name and value):
            raise UserError(f"{flag} takes each name once, as in {example}, not {word!r}")
        found[name] = value
    return found


def read_set(words: Iterable[str]) -> dict[str, tuple[Value, ...]]:
    """Read words such as learner.lanes=16,32 as the choices for each name."""
    pairs = read_pairs("--set", words, "learner.lanes=16").items()
    return {name.replace("_", "-"): tuple(map(_read, text.split(","))) for name, text in pairs}


def _read(text: str) -> Value:
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return {"true": True, "false": False}.get(text.lower(), text)


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
    """Make a settings dataclass of untrusted JSON values; fields that are missing have defaults.

    An unknown name or a wrong type is a UserError that says where it stands.
    """
    found = convert(kind, values, where)
    if odd := sorted(map(str, _unknown(values, dataclasses.asdict(found)))):
        raise UserError(f"{where} has unknown fields: {one_line(', '.join(odd))}")
    return found


def _unknown(given: Any, known: Any) -> Iterator[str]:
    """Name the given values that were not taken over: msgspec passes unknown fields by."""
    if isinstance(given, Mapping) and isinstance(known, Mapping):
        yield from given.keys() - known.keys()
        for name in given.keys() & known.keys():
            yield from (f"{name}.{inner}" for inner in _unknown(given[name], known[name]))


def recorded_settings(world: type[World], values: Any) -> Settings:
    """Make the settings of a recorded run of this world; what came later has its default."""
    kind = _memory_kind(values)
    if isinstance(values, Mapping) and isinstance(memory := values.get("memory"), Mapping):
        values = {**values, "memory": {n: v for n, v in memory.items() if n != KIND}}
    settings: Settings = from_dict(Settings[world, kind], values)  # type: ignore[valid-type]
    return settings


def completed(world: type[World], values: Any) -> dict[str, Any]:
    """Add to recorded settings those that came later, at their defaults, which change nothing."""
    return to_dict(recorded_settings(world, values))


def _memory_kind(values: Any) -> Any:
    memory = values.get("memory") if isinstance(values, Mapping) else None
    name = memory.get(KIND) if isinstance(memory, Mapping) else None
    if name is None:
        return DND
    if not isinstance(name, str) or name not in MEMORIES:
        raise UserError(
            f"these settings have a memory {one_line(repr(name))} that is not known here:"
            " install the package that brings it, or import the module that registers it"
        )
    return MEMORIES.find(name)


def differences(old: Mapping[str, Any], new: Mapping[str, Any], prefix: str = "") -> list[str]:
    """List the names in which two sets of settings differ, as `name: old → new`."""
    found: list[str] = []
    for name in sorted(old.keys() | new.keys()):
        a, b = old.get(name), new.get(name)
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            found += differences(a, b, f"{prefix}{name}.")
        elif a != b:
            found.append(f"{prefix}{name}: {one_line(a)} → {one_line(b)}")
    return found
