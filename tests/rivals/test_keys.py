"""Learned keys: the read by a formula of its own, its gradient, its controls, what is learned."""

from dataclasses import replace
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from reinstate.agent import AGENTS, Network
from reinstate.errors import UserError
from reinstate.memory import DND, Consolidating, Contents, Memory
from reinstate.memory.keys import Keys, Lookup
from reinstate.memory.recognition import Recollection
from reinstate.rivals.keys import ByIdentity, KeysAgent
from reinstate.tasks.bandits import NoisyBandits
from reinstate_paper.barcode_bandits import QUICK
from test_learning import trained
from test_memory import filled, slope

SIZE, KEY, VALUE = 6, 3, 2  # of contexts, keys and values
BETA, RHO, MIDDLE = 3.0, 0.4, 0.3
WORLD = NoisyBandits(num_arms=3, pulls=2, num_contexts=3, repeats=4, distractors=4)
WEIGHTS = np.array([1.0, -2.0])  # of values, for gradients of one number


def lookup(keys: Keys, learned: bool = True) -> Lookup:
    """A lookup whose numbers are not those it starts with."""
    made = Lookup(keys, SIZE, learned, MIDDLE, key=jax.random.key(1))
    numbers = jnp.log(jnp.array(BETA)), jnp.array(RHO)
    return eqx.tree_at(lambda r: (r.log_sharpness, r.recency), made, numbers)


def entries(count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(count)
    return rng.normal(size=(count, SIZE)), rng.normal(size=(count, VALUE)), rng.normal(size=SIZE)


def stored(count: int, dnd: DND) -> Contents:
    contexts, values, _ = entries(count)
    if not count:
        return dnd.empty(SIZE, VALUE)
    return filled(dnd, *zip(contexts.tolist(), values.tolist(), strict=True))


def numbers(reader: Lookup) -> tuple[Any, Any]:
    """Its weights and biases, in double precision; of none, none."""
    layer: Any = reader.embedding
    return layer and np.asarray(layer.weight, float), layer and np.asarray(layer.bias, float)


def by_formula(
    w: np.ndarray | None,
    b: Any,
    contexts: np.ndarray,
    values: np.ndarray,
    shown: np.ndarray,
    k: int,
) -> tuple[np.ndarray, float]:
    """What comes back and the largest cosine, one entry at a time; entry i was written i-th."""

    def key(x: np.ndarray) -> np.ndarray:
        embedded = x - MIDDLE if w is None else w @ (x - MIDDLE) + b
        unit: np.ndarray = embedded / np.sqrt(embedded @ embedded)
        return unit

    cosines = [float(key(x) @ key(shown)) for x in contexts]
    best = sorted(range(len(cosines)), key=lambda i: -cosines[i])[:k]
    ages = [len(cosines) - 1 - i for i in range(len(cosines))]
    shares = [np.exp(BETA * cosines[i] - RHO * np.log(1 + ages[i])) for i in best]
    recalled: np.ndarray = sum(
        (s / sum(shares) * values[i] for s, i in zip(shares, best, strict=True)), np.zeros(VALUE)
    )
    return recalled, max(cosines, default=0.0)


@eqx.filter_jit
def ask(reader: Lookup, dnd: DND, contents: Contents, shown: Array) -> tuple[Recollection, Any]:
    found, after = reader.read(dnd, contents, shown)
    return reader(found), after


@pytest.mark.parametrize("learned", [True, False])
@pytest.mark.parametrize(("count", "k"), [(0, 5), (1, 5), (3, 5), (9, 5), (9, 2)])
def test_what_comes_back_is_that_of_the_formula(count: int, k: int, learned: bool) -> None:
    keys = Keys(size=KEY, neighbours=k)
    dnd, reader = keys.memory(DND(capacity=12)), lookup(keys, learned)
    weights, bias = numbers(reader)
    contexts, values, shown = entries(count)
    before = stored(count, dnd)
    out, after = ask(reader, dnd, before, jnp.asarray(shown, jnp.float32))
    recalled, cosine = by_formula(weights, bias, contexts, values, shown, k)
    np.testing.assert_allclose(out.c_ep, recalled, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(out.cues, [3 * cosine, 3.0 * (count > 0)], rtol=1e-4, atol=1e-5)
    # Contexts stay as they are: the next read embeds them by the weights of its own time.
    np.testing.assert_array_equal(after.keys, before.keys)
    np.testing.assert_array_equal(after.norms, before.norms)


def test_gradients_are_the_slopes_of_the_formula() -> None:
    """They reach the embedding by what is stored and by what is shown."""
    keys = Keys(size=KEY, neighbours=3)
    dnd, reader = keys.memory(DND(capacity=9)), lookup(keys)
    contexts, values, shown = entries(7)
    weight, bias = numbers(reader)

    @jax.jit
    @partial(jax.grad, argnums=(0, 1))
    def gradient(reader: Lookup, shown: Array) -> Array:
        found, _ = reader.read(dnd, stored(7, dnd), shown)
        return jnp.dot(reader(found).c_ep, jnp.asarray(WEIGHTS, jnp.float32))

    found, by_shown = gradient(reader, jnp.asarray(shown, jnp.float32))

    def slow(*given: np.ndarray) -> float:
        recalled, _ = by_formula(given[0], given[1], contexts, values, given[2], 3)
        return float(recalled @ WEIGHTS)

    given = weight, bias, shown
    for n, each in enumerate((found.embedding.weight, found.embedding.bias, by_shown)):
        expected = slope(slow, given, n)
        np.testing.assert_allclose(each, expected, atol=1e-4, rtol=1e-3)
        assert np.abs(expected).max() > 1e-3
    assert found.log_sharpness != 0 and found.recency != 0


def test_sharpness_is_cut_off() -> None:
    keys = Keys(size=KEY, sharpest=5.0)
    sharp, limit = (
        eqx.tree_at(lambda r: r.log_sharpness, lookup(keys), jnp.log(jnp.array(beta)))
        for beta in (1e30, 5.0)
    )
    asked = keys.memory(DND(capacity=9)), stored(7, keys.memory(DND(capacity=9))), jnp.ones(SIZE)
    np.testing.assert_array_equal(ask(sharp, *asked)[0].c_ep, ask(limit, *asked)[0].c_ep)


def test_whatever_is_a_dictionary_can_be_read_by_learned_keys() -> None:
    made = Keys(neighbours=7).memory(Consolidating(capacity=4, distance="euclidean"))
    assert made == Consolidating(capacity=4, k=4, distance="cosine")
    with pytest.raises(UserError, match="not Other: use a DND"):
        Keys().memory(type("Other", (Memory,), {})())


def test_who_is_told_sees_the_same_key_at_every_exposure_and_others_see_what_there_is() -> None:
    made: dict[str, KeysAgent] = {
        name: AGENTS[name](WORLD, Network(hidden_size=4), key=jax.random.key(0))
        for name in ("epl2rl-keys", "epl2rl-soft", "epl2rl-keys-told")
    }
    assert made["epl2rl-keys"].view(WORLD) is made["epl2rl-soft"].view(WORLD) is WORLD
    tasks = WORLD.sample_epoch(jax.random.key(0))
    shown = np.asarray(jax.vmap(made["epl2rl-keys-told"].view(WORLD).contexts)(tasks))[:, 0]
    same = np.asarray(tasks.context_id)[:, None] == np.asarray(tasks.context_id)[None, :]
    np.testing.assert_allclose(shown @ shown.T, same, atol=1e-6)
    many = ByIdentity(replace(WORLD, barcode_length=5, distractors=0, num_contexts=9))
    keys = np.asarray(jax.vmap(many.contexts)(many.sample_epoch(jax.random.key(0))))[:, 0]
    assert len(np.unique(keys, axis=0)) == 9  # more than there are dimensions


def test_a_learned_key_ignores_what_says_nothing() -> None:
    """Of four seeds, weights of the barcode were 4.8 to 7.9 times as large as those behind it."""
    task = replace(
        WORLD, pulls=3, num_contexts=4, mapping="independent", barcode_length=5, distractors=10
    )
    learner = replace(QUICK.learner, lanes=32, epochs=40)
    settings = replace(QUICK, task=task, network=Network(hidden_size=16), learner=learner, seeds=1)
    params: Any = trained("epl2rl-keys", settings).params
    weight = np.asarray(params.recognizer.embedding.weight)[0]  # (key, bits)
    size = np.sqrt((weight**2).sum(axis=0))
    assert size[:5].mean() > 2.5 * size[5:].mean()
