"""Recognition: neighbours by a formula of their own, cues by hand, a reach from training alone."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from reference.dnd import distance_between
from reinstate.evaluation import evaluate
from reinstate.memory import DND, Consolidating, Contents, Memory, Retrieval
from reinstate.memory.recognition import (
    STRANGERS,
    Recognition,
    Recognizer,
    Recollection,
    measured_reach,
)
from reinstate.tasks import drawings
from reinstate.tasks.bandits import Bandits, OmniglotBandits
from test_memory import filled, random_memory, read, slope, to_float32
from tiny import TINY

NO_CUES = Recognition(similarity=False)
PLAIN = replace(NO_CUES, sharpening=False)
WEIGHTS = np.array([1.0, -2.0])  # of values, for gradients of one number


@eqx.filter_jit
def judge(recognizer: Recognizer, found: Retrieval) -> Recollection:
    return recognizer(found)


def recollect(settings: Recognition, dnd: DND, contents: Contents, query: Any) -> Recollection:
    out: Recollection = judge(Recognizer(settings), read(dnd, contents, query)[0])
    return out


class Learned(NamedTuple):
    """What a recollection is made of, and gradients are taken by."""

    keys: Any
    values: Any
    query: Any
    a: Any
    b: Any
    null: Any


def by_formula(given: Learned, k: int, delta: float = 0.1) -> np.ndarray:
    """w_i = κ_i^p / (κ_0^p + Σ_j κ_j^p), p = exp(a + b s), in double precision as it stands."""
    keys, values, query, a, b, null = given
    distances = np.array([distance_between(key, query, "cosine") for key in keys])
    nearest = np.argsort(distances)[:k]
    kernel = 1 / (distances[nearest] + delta)
    power = np.exp(a + b * (1 - distances[nearest[0]]))
    shares = kernel**power
    recalled: np.ndarray = shares @ values[nearest] / (np.exp(null) ** power + shares.sum())
    return recalled


@pytest.mark.parametrize("k", [1, 3, 5])
def test_without_anything_learned_it_is_the_paper_s_kernel(k: int) -> None:
    dnd = DND(capacity=7, k=k, delta=0.01)
    for entries in (1, 2, 5):
        keys, values, query = to_float32(*random_memory(entries))
        memory = filled(dnd, *zip(keys[:entries].tolist(), values.tolist(), strict=False))
        for settings in (PLAIN, replace(NO_CUES, a=0.0, b=0.0)):
            (found, _), out = (
                read(dnd, memory, query.tolist()),
                recollect(settings, dnd, memory, query),
            )
            np.testing.assert_allclose(out.c_ep, found.value, rtol=1e-5, atol=1e-6)
            weights = Recognizer(settings)._weights(found.kernel, found.written > 0, jnp.ones(()))
            np.testing.assert_allclose(weights, found.weights, rtol=1e-5)
            if k == 1:
                np.testing.assert_array_equal(out.c_ep, found.value)  # the only one is whole
        assert out.cues.shape == (0,)


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("null_slot", [False, True])
def test_sharpened_neighbours_and_the_null_slot_are_those_of_the_formula(
    k: int, null_slot: bool
) -> None:
    dnd = DND(capacity=5, k=k, delta=0.1)
    for seed, (a, b, null) in enumerate([(-0.9, 4.0, 1.0), (0.5, -1.0, -0.7), (1.2, 0.6, 2.0)]):
        keys, values, query = random_memory(seed)
        settings = replace(NO_CUES, a=a, b=b, null_slot=null_slot, null=null)
        memory = filled(dnd, *zip(keys.tolist(), values.tolist(), strict=True))
        given = Learned(keys, values, query, a, b, null if null_slot else -np.inf)
        expected = by_formula(given, k)
        out = recollect(settings, dnd, memory, query)
        np.testing.assert_allclose(out.c_ep, expected, rtol=1e-4, atol=1e-5)


def recalled(dnd: DND, null_slot: bool, *learned: Array) -> Array:
    """A number made of what comes back after the keys were written."""
    given = Learned(*learned)
    contents = dnd.empty(given.query.shape[0], given.values.shape[1])
    for key, value in zip(given.keys, given.values, strict=True):
        contents = dnd.write(contents, key, value)
    recognizer = Recognizer(replace(NO_CUES, null_slot=null_slot))
    recognizer = eqx.tree_at(lambda r: r.sharpness, recognizer, jnp.stack([given.a, given.b]))
    if null_slot:
        recognizer = eqx.tree_at(lambda r: r.log_null, recognizer, given.null)
    found, _ = dnd.read(contents, given.query)
    return jnp.dot(recognizer(found).c_ep, jnp.asarray(WEIGHTS, jnp.float32))


def gradients(dnd: DND, null_slot: bool, entries: int) -> tuple[Learned, Learned]:
    """Of the agent's and of the formula's; that of an empty memory has none."""
    keys, values, query = random_memory(1)
    constants = (np.array(-0.9), np.array(2.0), np.array(1.0))
    given = Learned(keys[:entries], values[:entries], query, *constants)
    gradient = jax.jit(jax.grad(partial(recalled, dnd, null_slot), argnums=tuple(range(6))))
    found = Learned(*gradient(*to_float32(*given)))

    def slow(*learned: np.ndarray) -> float:
        given = Learned(*learned)
        null = given.null if null_slot else -np.inf
        return float(by_formula(given._replace(null=null), dnd.k) @ WEIGHTS)

    slopes = [slope(slow, given, n) for n in range(6)] if entries else given  # type: ignore[arg-type]
    return found, Learned(*slopes)


@pytest.mark.parametrize(("k", "null_slot"), [(3, False), (3, True), (1, True)])
def test_gradients_are_the_slopes_of_the_formula(k: int, null_slot: bool) -> None:
    """With a null slot they reach query and keys of a single neighbour as well."""
    found, slopes = gradients(DND(capacity=5, k=k, delta=0.1), null_slot, entries=5)
    for name, gradient, expected in zip(Learned._fields, found, slopes, strict=True):
        np.testing.assert_allclose(gradient, expected, atol=1e-4, rtol=1e-3, err_msg=name)
        assert (np.abs(expected).max() > 1e-3) == (null_slot or name != "null"), name


@pytest.mark.parametrize("null_slot", [False, True])
@pytest.mark.parametrize("entries", [0, 1])
def test_gradients_are_finite_where_there_is_little_to_recall(
    entries: int, null_slot: bool
) -> None:
    found, _ = gradients(DND(capacity=12, k=10), null_slot, entries)
    assert all(np.all(np.isfinite(gradient)) for gradient in found)
    if not entries:
        assert not any(np.any(gradient) for gradient in found)


def test_so_are_those_of_cues() -> None:
    dnd, settings = DND(capacity=5, k=3), Recognition(margin=True, age=True, emptiness=True)

    @jax.jit
    def gradient(contents: Contents, query: Array) -> Array:
        return jax.grad(lambda q: Recognizer(settings)(dnd.read(contents, q)[0]).cues.sum())(query)

    query = jnp.array([1.0, 0.5])
    assert gradient(dnd.empty(2, 1), query).tolist() == [0, 0]
    assert gradient(dnd.empty(2, 1), jnp.zeros(2)).tolist() == [0, 0]
    one = filled(dnd, ([1, 0], [3.0]))
    assert np.all(np.isfinite(gradient(one, jnp.zeros(2))))
    assert np.all(np.isfinite(gradient(one, query))) and np.any(gradient(one, query) != 0)


@pytest.mark.parametrize("null_slot", [False, True])
def test_an_empty_memory_gives_zeros_and_no_cues(null_slot: bool) -> None:
    settings = Recognition(margin=True, age=True, emptiness=True, null_slot=null_slot)
    out = recollect(settings, DND(capacity=4, k=3), DND(capacity=4, k=3).empty(2, 3), [1, 0])
    assert out.c_ep.tolist() == [0, 0, 0] and out.cues.tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("exponent", [30.0, 1e4, -1e4])
def test_a_kernel_of_any_sharpness_recalls_something(exponent: float) -> None:
    """Beyond exp(88) there are no numbers: the nearest came back as NaN."""
    dnd = DND(capacity=4, k=3)
    memory = filled(dnd, ([1, 0], [3.0]), ([1, 1], [5.0]), ([0, 1], [10.0]))
    out = recollect(replace(NO_CUES, a=exponent, b=0.0), dnd, memory, [1, 0.1])
    np.testing.assert_allclose(out.c_ep, [3.0 if exponent > 0 else 6.0], rtol=1e-5)


CUED = Recognition(similarity=False, sharpening=False, gain=2.0)


@pytest.mark.parametrize(
    ("cue", "one", "three"),
    [
        # One entry, [3, 4]: .4 away from [1, 0], two writes ago. Of three, the nearest is .2 away.
        ("similarity", 0.6, 0.8),
        ("margin", 1 - 0.4, 0.2),  # a second that is missing is 1 away
        ("age", np.log(3) / 3, np.log(2) / 3),
        ("emptiness", 1.0, 1.0),
    ],
)
def test_each_cue_by_hand(cue: str, one: float, three: float) -> None:
    dnd = DND(capacity=4, k=2)
    alone = filled(dnd, ([3, 4], [1.0]))._replace(writes=jnp.array(3))
    among = filled(dnd, ([3, 4], [1.0]), ([4, 3], [2.0]), ([0, 1], [3.0]))
    settings = replace(CUED, **{cue: True})  # type: ignore[arg-type]
    for memory, expected in ((alone, one), (among, three)):
        cues = recollect(settings, dnd, memory, [1, 0]).cues
        np.testing.assert_allclose(cues, [2 * expected], rtol=1e-5)


def test_cues_come_in_one_order() -> None:
    dnd = DND(capacity=4, k=2)
    memory = filled(dnd, ([3, 4], [1.0]), ([4, 3], [2.0]), ([0, 1], [3.0]))
    settings = replace(CUED, similarity=True, margin=True, age=True, emptiness=True, gain=1.0)
    assert settings.num_cues == 4 and CUED.num_cues == 0 and Recognition().num_cues == 1
    cues = recollect(settings, dnd, memory, [1, 0]).cues
    np.testing.assert_allclose(cues, [0.8, 0.2, np.log(2) / 3, 1.0], rtol=1e-5)


def test_margin_asks_for_a_second_neighbour_that_is_not_combined() -> None:
    settings = replace(CUED, margin=True, neighbours=1, reach=0.0, merge="none")
    dnd = settings.memory(DND(capacity=4), TINY.task)
    assert isinstance(dnd, Consolidating) and dnd.k == 2
    memory = filled(dnd, ([3, 4], [1.0]), ([4, 3], [2.0]))
    out = recollect(settings, dnd, memory, [1, 0])
    assert out.c_ep.tolist() == [2.0]
    np.testing.assert_allclose(out.cues, [2 * 0.2], rtol=1e-5)
    # A memory with a single slot has none: it is taken to be 1 away.
    small = settings.memory(DND(capacity=1), TINY.task)
    assert isinstance(small, Consolidating) and small.k == 1
    out = recollect(settings, small, filled(small, ([3, 4], [1.0])), [1, 0])
    np.testing.assert_allclose(out.cues, [2 * 0.6], rtol=1e-5)


def test_the_memory_of_an_agent_that_recognises() -> None:
    settings = Recognition(neighbours=3, merge="replace", reach=0.2, recall="newest")
    dnd = DND(capacity=9, k=1, distance="euclidean", delta=0.5)
    found = settings.memory(dnd, TINY.task)
    assert found == Consolidating(9, 3, "euclidean", 0.5, "replace", 0.2, "newest")
    assert settings.memory(found, TINY.task) is found
    few = settings.memory(DND(capacity=2), TINY.task)
    assert isinstance(few, Consolidating) and few.k == 2  # no more neighbours than slots


@dataclass(frozen=True)
class Forgetful(DND):
    """A memory of somebody's own."""


@pytest.mark.parametrize("chosen", [Forgetful(6), Consolidating(6, k=2, reach=0.4)])
def test_a_memory_that_somebody_chose_is_kept(chosen: Memory) -> None:
    assert Recognition().memory(chosen, TINY.task) is chosen


@dataclass(frozen=True)
class Angles(Bandits):
    """Contexts are directions: each has its own, and turns with every exposure."""

    turns: float = 0.1
    """By how much, in radians."""
    judged_turns: float = 0.1
    judged_contexts: int = 3

    context_size = 2

    def for_evaluation(self) -> Self:
        changes = {"num_contexts": self.judged_contexts, "turns": self.judged_turns}
        return replace(self, **changes)  # type: ignore[arg-type]

    def contexts_of(self, key: Array, index: Array, exposure: Array) -> Array:
        angle = 3 * (index / self.num_contexts) ** 2 + self.turns * exposure
        return jnp.stack([jnp.cos(angle), jnp.sin(angle)], axis=-1)


ANGLES = Angles(num_arms=2, pulls=1, num_contexts=3, repeats=2, mapping="independent")


def test_reach_is_as_far_as_a_context_strays_from_itself() -> None:
    """Contexts at 0, 1/3 and 4/3, exposures .1 apart: nobody else is as near."""
    assert measured_reach(ANGLES) == pytest.approx(1 - np.cos(0.1), abs=1e-6)
    # A chord of the unit circle: |2 sin(.05)|², squared.
    by_chord = measured_reach(ANGLES, "euclidean")
    assert by_chord == pytest.approx(4 * np.sin(0.05) ** 2, abs=1e-6)


def test_reach_is_no_farther_than_strangers_are() -> None:
    """Exposures .7 apart: the second of the context at 1/3 is .3 from the one at 4/3."""
    assert measured_reach(replace(ANGLES, turns=0.7)) == pytest.approx(1 - np.cos(0.3), abs=1e-6)


def test_reach_does_not_look_at_what_agents_are_judged_on() -> None:
    """Of their contexts, it knows how many there are."""
    world = replace(ANGLES, num_contexts=20, turns=3.0)
    reach = measured_reach(world)
    assert measured_reach(replace(world, judged_turns=0.001)) == reach
    # The more there are, the likelier one of them is within reach.
    turned = 3 * (np.arange(20) / 20)[:, None] ** 2 + [0.0, 3.0]
    angles, names = turned.ravel(), np.arange(20).repeat(2)
    apart = 1 - np.cos(angles[:, None] - angles[None, :])
    others = np.sort(apart[names[:, None] != names[None, :]])
    for judged in (1, 3, 100):
        share = 1 - (1 - STRANGERS) ** (1 / judged)
        expected = others[int(share * (others.size - 1))]
        found = measured_reach(replace(world, judged_contexts=judged))
        assert found == pytest.approx(expected, abs=1e-6)
    assert found < reach


def test_without_a_second_exposure_or_a_second_context_there_is_no_reach() -> None:
    assert measured_reach(replace(ANGLES, repeats=1)) == 0
    assert measured_reach(replace(ANGLES, num_contexts=1)) == 0


def test_reach_of_drawings_is_that_of_training_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    world = OmniglotBandits(num_contexts=4, num_arms=4, repeats=4)
    hidden = np.array(drawings.embeddings())
    hidden[world.for_evaluation().pool] = np.nan
    monkeypatch.setattr(drawings, "embeddings", lambda: hidden)
    # Drawings of unrelated classes are about 1 apart, those of one class nearer.
    assert 0.05 < measured_reach.__wrapped__(world) < 0.8


@pytest.mark.parametrize(
    "recognition",
    [
        Recognition(margin=True, age=True, emptiness=True, null_slot=True, reach=0.1),
        replace(PLAIN, once=False, reach=0.1),
    ],
)
def test_double_precision(recognition: Recognition) -> None:
    """Tracing is enough: what carries a wrong type from step to step fails there."""
    settings = replace(TINY, network=replace(TINY.network, recognition=recognition))
    with jax.enable_x64(True):
        learner, seed = settings.make_learner("epl2rl-recognition"), jnp.array(0)
        state: Any = jax.eval_shape(learner.init, seed)
        after, _ = jax.eval_shape(learner.train_epoch, state)
        play = partial(evaluate, TINY.task, memory=learner.memory, settings=TINY.evaluation)
        record = jax.eval_shape(lambda p: play(learner.agent(p), seed=seed), after.params)
    before, now = ([(x.shape, x.dtype) for x in jax.tree.leaves(t)] for t in (state, after))
    assert before == now
    assert record.reward.dtype == jnp.float32 and record.filled.shape == (3, 6)
