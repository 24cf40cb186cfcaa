"""Few-shot accuracy of embeddings whose answers are known."""

from typing import Any

import numpy as np
import pytest

from reinstate_paper.omniglot.images import OneShotRun
from reinstate_paper.omniglot.pretraining import Rule, accuracy, one_shot_runs_accuracy, table


def clusters(spread: float, characters: int = 30, seed: int = 0) -> np.ndarray:
    """Embeddings (characters, 20, 16) around a random centre each."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=(characters, 20, 16))
    return rng.normal(size=(characters, 1, 16)) + spread * noise


@pytest.mark.parametrize("rule", ["nearest", "class-mean"])
@pytest.mark.parametrize(("way", "shot"), [(5, 1), (20, 5), (30, 19)])
def test_perfect_clusters(way: int, shot: int, rule: Rule) -> None:
    assert accuracy(clusters(0.01), way, shot, 50, 1, rule) == (1.0, 0.0)


@pytest.mark.parametrize("rule", ["nearest", "class-mean"])
@pytest.mark.parametrize(("way", "shot"), [(5, 1), (20, 3)])
def test_noise_is_chance(way: int, shot: int, rule: Rule) -> None:
    # So many characters that no two trials have much in common.
    noise = np.random.default_rng(0).normal(size=(400, 20, 16))
    found = accuracy(noise, way, shot, 2000, 1, rule)
    assert abs(found.mean - 1 / way) < 4 * found.error
    # Guesses of one trial are nearly independent: the binomial error, within a tenth or two.
    assert found.error == pytest.approx(np.sqrt((1 - 1 / way) / way / way / 2000), rel=0.2)


def test_length_does_not_matter() -> None:
    x = clusters(1.0)
    longer = x * np.random.default_rng(1).uniform(0.1, 10, (30, 20, 1))
    assert accuracy(x, 5, 1, 100, 3) == pytest.approx(accuracy(longer, 5, 1, 100, 3))


def test_a_mean_of_noisy_examples_is_better_than_the_nearest() -> None:
    x = clusters(1.5, characters=100)
    nearest, mean = (accuracy(x, 20, 5, 300, 1, rule) for rule in ("nearest", "class-mean"))
    assert mean.mean - nearest.mean > 5 * nearest.error
    one, also_one = (accuracy(x, 20, 1, 100, 1, rule) for rule in ("nearest", "class-mean"))
    assert one == also_one


def test_a_test_drawing_is_never_its_own_example() -> None:
    # Every drawing is like nothing but itself: only a leak could recognise it.
    alone = np.eye(40).reshape(8, 5, 40)
    found = accuracy(alone, 4, 4, 500, 0)
    assert found.mean <= 0.3


def test_table() -> None:
    rows = table(clusters(0.01), trials=10, seed=0)
    assert [(r["way"], r["shot"], r["rule"]) for r in rows] == [
        (5, 1, "nearest"),
        (5, 5, "nearest"),
        (5, 5, "class-mean"),
        (20, 1, "nearest"),
        (20, 5, "nearest"),
        (20, 5, "class-mean"),
    ]
    assert all(r["accuracy"] == 1 and r["trials"] == 10 for r in rows)


def test_one_shot_runs() -> None:
    x = np.eye(4, dtype=np.uint8).reshape(4, 2, 2)  # four drawings of 2 × 2 pixels

    def embed(images: np.ndarray) -> np.ndarray[Any, Any]:
        return images.reshape(2, 4, 4)

    right = OneShotRun(x, x[::-1], np.array([3, 2, 1, 0]))
    half = OneShotRun(x, x[::-1], np.array([3, 2, 0, 1]))
    assert one_shot_runs_accuracy(embed, [right, right]) == (1.0, 0.0)
    assert one_shot_runs_accuracy(embed, [right, half]) == pytest.approx((0.75, 0.25))
