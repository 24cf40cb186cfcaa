from collections import Counter
from collections.abc import Sequence
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from reinstate.errors import UserError
from reinstate.processes import Zipf
from reinstate.tasks.bandits import BanditTask, BarcodeBandits, NoisyBandits


def good_arms(world: BarcodeBandits, epochs: int) -> np.ndarray:
    """The good arm of every context, by context_id, (epochs, num_contexts)."""
    keys = jax.vmap(jax.random.key)(jnp.arange(epochs))
    tasks = jax.jit(partial(jax.lax.map, world.sample_epoch))(keys)
    arms = np.full((epochs, world.num_contexts), -1)
    rows = np.arange(epochs)[:, None]
    arms[rows, np.asarray(tasks.context_id)] = tasks.good_arm
    # Every exposure of a context must agree on its arm.
    np.testing.assert_array_equal(arms[rows, np.asarray(tasks.context_id)], tasks.good_arm)
    return arms


def assert_equally_likely(mappings: np.ndarray, possible: Sequence[tuple[int, ...]]) -> None:
    counts = Counter(map(tuple, mappings.tolist()))
    assert set(counts) <= set(possible)
    assert stats.chisquare([counts[m] for m in possible]).pvalue > 1e-3


def bandit(good_arm: int = 2) -> BanditTask:
    zero = jnp.zeros((), jnp.int32)
    return BanditTask(zero, zero, jnp.ones(10), jnp.array(good_arm))


def test_defaults_are_the_numbers_of_section_4_1() -> None:
    world = BarcodeBandits()
    assert (world.num_actions, world.episode_length) == (10, 10)
    assert (world.num_contexts, world.repeats, world.episodes_per_epoch) == (10, 10, 100)
    assert world.context_size == 10
    assert (world.p_good, world.p_bad) == (0.9, 0.1)
    assert (world.mapping, world.process) == ("permutation", "bag")
    assert world.observation_size == 0
    assert world.max_exposures == 10


def test_ten_contexts_own_ten_arms_once_each() -> None:
    arms = good_arms(BarcodeBandits(), epochs=50)
    np.testing.assert_array_equal(np.sort(arms, axis=1), np.tile(np.arange(10), (50, 1)))
    assert len(np.unique(arms, axis=0)) > 40  # and the mapping is drawn for each epoch


def test_a_permutation_of_more_contexts_than_arms_leaves_no_arm_out() -> None:
    arms = good_arms(BarcodeBandits(num_arms=2, num_contexts=3, repeats=1), epochs=3000)
    onto = [(0, 0, 1), (0, 1, 0), (1, 0, 0), (0, 1, 1), (1, 0, 1), (1, 1, 0)]
    assert_equally_likely(arms, onto)


def test_an_independent_mapping_draws_each_arm_by_itself() -> None:
    world = BarcodeBandits(num_arms=3, num_contexts=2, repeats=1, mapping="independent")
    possible = [(a, b) for a in range(3) for b in range(3)]
    assert_equally_likely(good_arms(world, epochs=3000), possible)


def test_rewards_come_as_often_as_the_arm_promises() -> None:
    world, draws = BarcodeBandits(num_arms=3, p_good=0.7, p_bad=0.2), 10_000
    start = world.reset(jax.random.key(0), bandit())
    pull = jax.vmap(lambda key, arm: world.step(key, bandit(), start, arm)[1], (0, None))
    keys = jax.vmap(jax.random.key)(jnp.arange(draws))
    for arm, p in enumerate([0.2, 0.2, 0.7]):
        rewards = np.asarray(pull(keys, jnp.array(arm)))
        assert set(np.unique(rewards)) == {0.0, 1.0}
        assert abs(rewards.mean() - p) < 4 * np.sqrt(p * (1 - p) / draws)


def test_the_trial_input_is_the_share_of_pulls_done() -> None:
    world = BarcodeBandits(pulls=4, trial_input=True)
    state = world.reset(jax.random.key(0), bandit())
    shares = []
    for _ in range(4):
        shares.append(world.observe(bandit(), state).features.tolist())
        state, _ = world.step(jax.random.key(0), bandit(), state, jnp.array(0))
    assert shares == [[0.0], [0.25], [0.5], [0.75]]


RECURRING = BarcodeBandits(num_arms=3, pulls=2, num_contexts=4, repeats=50, mapping="independent")


def shown_by_context(**changes: float) -> np.ndarray:
    """Barcodes as they are shown, (contexts, exposures, bits)."""
    tasks = NoisyBandits.of(RECURRING, **changes).sample_epoch(jax.random.key(0))
    order = np.argsort(np.asarray(tasks.context_id), kind="stable")
    return np.asarray(tasks.context)[order].reshape(4, 50, 10)


def test_without_noise_contexts_come_back_exactly() -> None:
    shown = shown_by_context()
    assert np.all(shown == shown[:, :1])


def test_noise_flips_bits_of_every_exposure() -> None:
    shown = shown_by_context(noise=0.1)
    usual = (shown.mean(axis=1) > 0.5)[:, None]
    flipped = (shown != usual).mean()
    assert 0.08 < flipped < 0.12 and set(np.unique(shown)) == {0.0, 1.0}


def test_the_last_bits_are_redrawn() -> None:
    shown = shown_by_context(redrawn=3)
    assert np.all(shown[..., :7] == shown[:, :1, :7])
    assert abs(shown[..., 7:].mean() - 0.5) < 0.06  # three standard errors
    with pytest.raises(UserError, match="redrawn = 10 leaves nothing of 10 bits"):
        NoisyBandits(redrawn=10)


def test_distractors_are_drawn_at_every_exposure_and_leave_the_barcode_as_it_was() -> None:
    plain, more = (
        NoisyBandits.of(RECURRING, noise=0.1, distractors=n).sample_epoch(jax.random.key(0))
        for n in (0, 6)
    )
    assert plain.context.shape == (200, 10) and more.context.shape == (200, 16)
    np.testing.assert_array_equal(more.context[:, :10], plain.context)
    drawn = np.asarray(more.context[:, 10:])
    assert set(np.unique(drawn)) == {0.0, 1.0}
    np.testing.assert_allclose(np.corrcoef(drawn.T), np.eye(6), atol=0.25)


def test_none_of_the_barcodes_for_training_is_evaluated_on() -> None:
    world = NoisyBandits.of(RECURRING, barcode_length=6, codes="training")
    assert world.for_evaluation() == NoisyBandits.of(world, codes="evaluation")
    assert NoisyBandits().for_evaluation() == NoisyBandits()

    def shown(world: NoisyBandits) -> set[int]:
        keys = jax.random.split(jax.random.key(0), 300)
        contexts = np.asarray(jax.jit(jax.vmap(world.sample_epoch))(keys).context)
        assert len(np.unique(contexts[0], axis=0)) == 4
        return set((contexts @ 2 ** np.arange(6)).astype(int).ravel().tolist())

    trained, new = shown(world), shown(NoisyBandits.of(world, codes="evaluation"))
    assert not trained & new
    assert trained | new == set(range(64)) - {0, 32}  # but those whose first bits are all 0
    for bit in range(6):  # no single bit tells the halves apart
        ones = np.mean([number >> bit & 1 for number in trained])
        assert 0.25 < ones < 0.75
    with pytest.raises(UserError, match="barcodes of length 2 give 3 contexts and up to 4"):
        NoisyBandits.of(RECURRING, barcode_length=3, codes="training")


def test_zipfs_law() -> None:
    drawn = np.asarray(Zipf(3, 6000, 1.0).sample(jax.random.key(0)))
    shares = np.bincount(drawn) / 6000
    np.testing.assert_allclose(shares, np.array([6, 3, 2]) / 11, atol=0.02)
    tasks = NoisyBandits.of(RECURRING, zipf=2.0).sample_epoch(jax.random.key(0))
    assert np.all(np.diff(np.bincount(np.asarray(tasks.context_id), minlength=4)) < 0)
