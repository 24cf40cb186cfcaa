"""Noisy barcodes: the claims on numbers made up for them, and the posterior by brute force."""

from dataclasses import replace
from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from made_up import assert_all_supported_but, changed, near
from reinstate.agent import AGENTS, Network
from reinstate.errors import UserError
from reinstate.memory import DND
from reinstate.tasks.bandits import BarcodeBandits, NoisyBandits
from reinstate_paper.noisy_barcodes import NOISY_BARCODES, QUICK, checks
from reinstate_paper.posterior import Numbered, PosteriorAgent


def both(new: float, trained: float) -> dict[str, Any]:
    return {"reward": near(new), "on_training_contexts": {"reward": near(trained)}}


AGENTS_MADE_UP: dict[str, Any] = {
    "l2rl": both(4.0, 4.0),
    "epl2rl-keys": both(7.95, 7.95),
    "epl2rl-keys-told": both(8.0, 8.0),
}
NEW, TRAINED = "epl2rl-keys on new barcodes", "epl2rl-keys on trained barcodes"


def test_claims_are_of_what_being_told_adds() -> None:
    found = checks(AGENTS_MADE_UP, {}, {})
    assert_all_supported_but(found, {})
    assert [check.region.low for check in found] == [0.97, 0.97]
    assert [check.evidence.value for check in found] == pytest.approx([3.95 / 4] * 2, abs=1e-3)
    less = changed(AGENTS_MADE_UP, "epl2rl-keys", both(7.8, 7.95))
    assert_all_supported_but(checks(less, {}, {}), {NEW: "contradicted"})
    without: Any = {"epl2rl-keys": both(8.0, 8.0)}
    assert checks(without, {}, {}) == []


def test_where_bits_are_flipped_the_posterior_is_what_a_memory_can_have() -> None:
    agents = {**AGENTS_MADE_UP, "epl2rl-posterior": both(7.0, 7.0)}
    agents["epl2rl-keys"] = both(6.8, 6.6)
    found = checks(agents, {}, {})
    assert [check.region.low for check in found] == [0.9, 0.9]
    assert_all_supported_but(found, {TRAINED: "contradicted"})


def test_presets_hold_out_half_of_the_barcodes() -> None:
    for settings in NOISY_BARCODES.presets.values():
        assert settings.task.for_evaluation() == replace(settings.task, codes="evaluation")
        assert replace(settings, task=QUICK.task) == QUICK
    assert {s.task.context_size for s in NOISY_BARCODES.presets.values()} == {10, 20, 50, 60, 200}


WORLD = NoisyBandits(
    num_arms=2, pulls=1, num_contexts=3, repeats=3, mapping="independent",
    barcode_length=3, noise=0.2, distractors=2,
)  # fmt: skip


def by_enumeration(stored: list[tuple[int, np.ndarray]], shown: np.ndarray) -> list[float]:
    """The chance of each context, by going through all barcodes that it may have."""

    def likelihood(looks: list[np.ndarray]) -> float:
        total = 0.0
        for clean in product((0, 1), repeat=3):
            flipped = np.array([look[:3] != clean for look in looks])
            total += float(np.prod(np.where(flipped, 0.2, 0.8))) / 8
        return total

    chances = []
    for context in range(3):
        looks = [look for name, look in stored if name == context]
        chances.append((3 - len(looks)) * likelihood([*looks, shown]) / likelihood(looks))
    return [chance / sum(chances) for chance in chances]


def test_the_posterior_is_that_of_all_barcodes() -> None:
    agent: PosteriorAgent = AGENTS["epl2rl-posterior"](
        WORLD, Network(hidden_size=2), key=jax.random.key(0)
    )
    memory, rng = DND(capacity=9), np.random.default_rng(0)
    contents = memory.empty(5, 2)
    stored: list[tuple[int, np.ndarray]] = []
    for episode, context in enumerate((1, 0, 1, 1, 0)):
        look, shown = rng.integers(0, 2, 5), rng.integers(0, 2, 5)
        told = [_told(context, each) for each in (look, shown)]
        expected = by_enumeration(stored, shown)
        np.testing.assert_allclose(agent.posterior(contents, told[1]), expected, rtol=1e-4)
        recalled, found, _ = agent.read(memory, contents, told[1], None)
        newest = {name: float(1 + n) for n, (name, _) in enumerate(stored)}
        own = sum(newest.get(c, 0.0) * chance for c, chance in enumerate(expected))
        np.testing.assert_allclose(recalled.c_ep, [own, own], rtol=1e-4)
        if stored:  # the newest of the likeliest, of which there may be two
            name = stored[int(found.written[0]) - 1][0]
            assert found.written[0] == newest[name]
            assert expected[name] == pytest.approx(max(expected[each] for each in newest))
        contents = memory.write(contents, told[0], jnp.full(2, 1.0 + episode))
        stored.append((context, look))


def _told(context: int, look: np.ndarray) -> jax.Array:
    """What the agent's world shows of a barcode."""
    task = WORLD.sample_epoch(jax.random.key(0))
    shown = jnp.asarray(look, jnp.float32)
    task = task._replace(context=shown, context_id=jnp.array(context))
    return Numbered(WORLD).contexts(task)[0]


def test_without_flips_there_is_no_posterior() -> None:
    with pytest.raises(UserError, match="whose barcodes are flipped"):
        AGENTS["epl2rl-posterior"](BarcodeBandits(), Network(), key=jax.random.key(0))
