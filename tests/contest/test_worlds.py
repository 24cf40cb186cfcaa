import jax
import numpy as np
import pytest

from reinstate.baselines.bandits import one_exposure
from reinstate.errors import UserError
from reinstate.tasks.bandits import BarcodeBandits
from reinstate_paper.contest.worlds import Zipf, strained, strained_optimum

WORLD = BarcodeBandits(num_arms=3, pulls=2, num_contexts=4, repeats=50, mapping="independent")
KEY = jax.random.key(0)


def shown_by_context(**changes: float) -> np.ndarray:
    """Barcodes as they are shown, (contexts, exposures, bits)."""
    tasks = strained(WORLD, **changes).sample_epoch(KEY)
    order = np.argsort(np.asarray(tasks.context_id), kind="stable")
    return np.asarray(tasks.context)[order].reshape(4, 50, 10)


def test_without_strain_contexts_come_back_exactly() -> None:
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
        strained(WORLD, redrawn=10)


def test_zipfs_law() -> None:
    drawn = np.asarray(Zipf(3, 6000, 1.0).sample(KEY))
    shares = np.bincount(drawn) / 6000
    np.testing.assert_allclose(shares, np.array([6, 3, 2]) / 11, atol=0.02)
    tasks = strained(WORLD, zipf=2.0).sample_epoch(KEY)
    assert np.all(np.diff(np.bincount(np.asarray(tasks.context_id), minlength=4)) < 0)


def test_the_optimum_under_zipfs_law_counts_the_contexts_that_are_met() -> None:
    world = strained(WORLD, num_contexts=2, repeats=1, zipf=1.0)
    first = 2 * one_exposure(3, 2, 0.9, 0.1)
    # Two episodes, of contexts with chances 2/3 and 1/3: 5/9 of the time both are the same.
    met = 2 * 4 / 9 + 5 / 9
    found = strained_optimum(world)
    assert found["with_memory"] == pytest.approx((met * first + (2 - met) * 1.8) / 2)
    assert "own_memory" not in found
    assert strained_optimum(strained(WORLD, noise=0.1)) == strained_optimum(WORLD)
