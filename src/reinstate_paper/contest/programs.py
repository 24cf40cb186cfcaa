"""The programs of an agent in an event, compiled in a second thread while other agents train.

Compiling is much of what a small contest costs. One program tunes and trains, since rates are
arguments of it and a round tries as many settings as there are seeds; and one program plays all
worlds whose epochs are equally long.
"""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypedDict

import jax
import jax.numpy as jnp
import numpy as np

from reinstate import devices
from reinstate.analysis.exposures import exposure_scores
from reinstate.analysis.results import OverSeeds
from reinstate.evaluation import Condition, Evaluation, Record, evaluate_on, fresh_epochs
from reinstate.rivals.reinstating import Oracle
from reinstate.runs.candidates import CandidateBatch
from reinstate.settings import Settings
from reinstate.tasks.base import World


class Judged(TypedDict):
    """What frozen weights earn in a world."""

    reward: OverSeeds  # per episode
    exposures: list[float]  # reward per episode at each, mean over seeds


class Programs:
    """What trains an agent, many settings or many seeds at once, and what judges it."""

    def __init__(self, agent: str, settings: Settings, worlds: Mapping[str, World]) -> None:
        # Settings are compared with a seed that trains no agent of the contest.
        alone = replace(settings, seeds=1, first_seed=settings.seed_range[-1] + 1)
        self.batch = CandidateBatch(agent, alone, settings.seeds)
        self.batch.prepare()
        self.judges = [Judge(agent, settings, group) for group in equally_long(worlds)]

    def judge(self, params: Any) -> dict[str, Judged]:
        """Let frozen weights of all seeds play every world."""
        return {name: found for judge in self.judges for name, found in judge(params).items()}


def equally_long(worlds: Mapping[str, World]) -> list[dict[str, World]]:
    """Group worlds by how many episodes an epoch has."""
    groups: dict[int, dict[str, World]] = {}
    for name, world in worlds.items():
        groups.setdefault(world.episodes_per_epoch, {})[name] = world
    return list(groups.values())


class Judge:
    """Plays several worlds side by side, with the memory that agents were trained with.

    They may differ in nothing but how an epoch is drawn, and their epochs are equally long.
    """

    def __init__(self, agent: str, settings: Settings, worlds: Mapping[str, World]) -> None:
        self.settings, self.worlds = settings, worlds
        self.world = next(iter(worlds.values()))
        once = replace(settings.learner, episodes_per_update=1)  # nothing is learned
        # An agent of these worlds, which may have room for a longer epoch.
        self.learner = replace(settings, task=self.world, learner=once).make_learner(agent)
        made = jax.eval_shape(self.learner.init, jax.ShapeDtypeStruct((), jnp.int32)).params
        self._tree = jax.tree.structure(made)
        self.memory = settings.for_agent(agent).memory
        if isinstance(self.learner.agent(made), Oracle):
            self.memory = self.learner.memory  # an oracle has room for all contexts of any world
        self._epochs = epochs_of(tuple(worlds.values()), settings.evaluation, settings.seed_range)
        every = jax.tree.map(
            lambda x: jax.ShapeDtypeStruct((settings.seeds, *x.shape), x.dtype), made
        )
        play = devices.over_seeds(self._play, settings.seeds)
        self._program = play.lower(every, *jax.eval_shape(lambda: self._epochs)).compile()

    def _play(self, params: Any, tasks: Any, keys: jax.Array) -> Record:
        """Play epochs, world after world, with the weights of one seed."""
        condition = Condition(self.world, self.memory)
        return evaluate_on(condition, self.learner.agent(params), tasks, keys)

    def __call__(self, params: Any) -> dict[str, Judged]:
        """Return what trained weights earn in each world."""
        params = jax.tree.unflatten(self._tree, jax.tree.leaves(params))
        arguments = params, *self._epochs
        record = self._program(*jax.device_put(arguments, self._program.input_shardings[0]))
        record = jax.tree.map(np.asarray, record)
        epochs = self.settings.evaluation.epochs
        found: dict[str, Judged] = {}
        for number, name in enumerate(self.worlds):
            own = slice(number * epochs, (number + 1) * epochs)
            scores = exposure_scores(jax.tree.map(lambda leaf, own=own: leaf[:, own], record))
            mean: Any = scores["by_exposure"]["reward"]["mean"]
            found[name] = {"reward": scores["reward"], "exposures": mean}
        return found


@lru_cache(maxsize=8)  # agents are judged one after the other, in the same epochs
def epochs_of(
    worlds: tuple[World, ...], evaluation: Evaluation, seeds: range
) -> tuple[Any, jax.Array]:
    """Draw the epochs of several worlds in which each seed is judged, (seeds, epochs, …)."""

    def one_seed(seed: jax.Array) -> tuple[Any, jax.Array]:
        drawn = [fresh_epochs(world, evaluation, seed) for world in worlds]
        found: tuple[Any, jax.Array] = jax.tree.map(lambda *each: jnp.concatenate(each), *drawn)
        return found

    return jax.jit(jax.vmap(one_seed))(jnp.array(seeds))


@contextmanager
def ahead(
    makers: Mapping[Any, Callable[[], Programs]],
) -> Iterator[Callable[[Any], Programs]]:
    """Make programs one after the other in a second thread; yield what waits for one of them."""
    pool = ThreadPoolExecutor(1, "contest")
    made: dict[Any, Future[Programs]] = {name: pool.submit(make) for name, make in makers.items()}
    try:
        yield lambda name: made.pop(name).result()  # then nobody else holds on to it
    finally:
        # What is being compiled ends by itself: nobody who stops should wait for it to be told so.
        pool.shutdown(wait=False, cancel_futures=True)
