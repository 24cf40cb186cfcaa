"""Trace once per process what many tests train and judge: most of them the same.

A learner that is made again is another object, for which JAX traces and lowers everything again.
Here equal settings give the same learner, and the same learner the same programs, which JAX then
knows. Whoever replaces code that programs are made of begins with none.
"""

import sys
from collections.abc import Callable
from functools import cache, partial
from types import MethodType, ModuleType
from typing import Any

import jax
import pytest

from reinstate import devices
from reinstate.agent import AGENTS, Maker
from reinstate.learner import Learner, Rates
from reinstate.runs import provenance, training
from reinstate.runs.evaluator import Evaluator
from reinstate.settings import Settings

# What programs are made of. What only calls them may be replaced.
ROOMS = """
draws tasks memory cell recognition agent rivals rollout recompute learner evaluation settings
devices analysis.states
""".split()  # noqa: SIM905

Key = tuple[Any, ...]


def code() -> Key:
    """Return all that modules and their classes hold at present, to be compared by identity."""
    config: Any = jax.config
    found: list[Any] = [config.jax_enable_x64, config.jax_disable_jit]
    for name, module in [*sys.modules.items()]:
        if name.startswith(_PREFIXES) and isinstance(module, ModuleType):
            for value in vars(module).values():
                found.append(value)
                if isinstance(value, type) and value.__module__.startswith("reinstate."):
                    found.extend(vars(value).values())
    key = tuple(map(id, found))
    _alive.setdefault(key, found)  # or another object may get the same id
    return key


_PREFIXES = tuple(f"reinstate.{room}" for room in ROOMS)
_alive: dict[Key, list[Any]] = {}


def install(patch: pytest.MonkeyPatch) -> None:
    """Share learners and programs of them; and ask git once which commit this is."""
    learners: dict[Key, Learner] = {}
    programs: dict[Key, Any] = {}
    judged: dict[Key, dict[Any, Any]] = {}
    make, over_mesh, play = Settings.make_learner, devices.over_mesh, Evaluator._play

    def made(self: Settings, agent: str | Maker, rates: Rates | None = None) -> Learner:
        how = AGENTS.find(agent) if isinstance(agent, str) else agent
        parts = how, self.task, self.network, self.memory, self.learner
        if rates is not None or not _hashable(parts):
            return make(self, agent, rates)
        key = code(), repr(parts[1:]), *parts  # 1 and 1.0 are equal, and not the same program
        if key not in learners:
            learners[key] = make(self, agent)
        return learners[key]

    def meshed(function: Callable[..., Any], *how: Any, **more: Any) -> Any:
        named = _named(function)
        if named is None:
            return over_mesh(function, *how, **more)
        key = code(), named, how, *more.items()
        if key not in programs:
            programs[key] = over_mesh(function, *how, **more)
        return programs[key]

    def played(self: Evaluator, *what: Any) -> Any:
        key = code(), self.learner, self.settings.seeds, self.settings.evaluation
        self._programs = judged.setdefault(key, {})
        return play(self, *what)

    patch.setattr(Settings, "make_learner", made)
    for module in (devices, training):
        patch.setattr(module, "over_mesh", meshed)
    patch.setattr(Evaluator, "_play", played)
    patch.setattr(provenance, "commit", cache(provenance.commit))


def _named(function: Any) -> Key | None:
    """Return what tells a learner's method from all others; None if it is something else."""
    if isinstance(function, partial) and not function.args:
        inner = _named(function.func)
        return inner and (*inner, *sorted(function.keywords.items()))
    if isinstance(function, MethodType) and isinstance(function.__self__, Learner):
        return function.__self__, function.__func__
    return None


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True
