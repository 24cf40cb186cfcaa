from collections import Counter
from functools import partial
from itertools import permutations, product

import jax
import numpy as np
import pytest
from scipy import stats

from reinstate.tasks.bandits import MAX_BARCODE_LENGTH, barcodes


def draw(num: int, length: int, draws: int) -> np.ndarray:
    """Barcodes of many epochs, (draws, num, length)."""
    # A map, where vmap would do: it compiles in a third of the time.
    draw_all = partial(jax.lax.map, lambda seed: barcodes(jax.random.key(seed), num, length))
    return np.asarray(jax.jit(draw_all)(np.arange(draws)))


@pytest.fixture(scope="module")
def paper() -> np.ndarray:
    return draw(num=10, length=10, draws=1000)


def test_barcodes_are_distinct_binary_strings_and_never_all_zero(paper: np.ndarray) -> None:
    assert paper.shape == (1000, 10, 10)
    assert paper.dtype == np.float32
    assert set(np.unique(paper)) == {0.0, 1.0}
    assert paper.any(axis=2).all()
    for epoch in paper:
        assert len(np.unique(epoch, axis=0)) == 10


def test_each_bit_is_set_as_often_as_in_the_non_zero_strings(paper: np.ndarray) -> None:
    p = 512 / 1023
    standard_error = np.sqrt(p * (1 - p) / (1000 * 10))
    assert np.all(np.abs(paper.mean(axis=(0, 1)) - p) < 4 * standard_error)


def test_every_ordered_choice_of_strings_is_equally_likely() -> None:
    strings = [bits for bits in product([0.0, 1.0], repeat=2) if any(bits)]
    choices = list(permutations(strings, 2))
    assert len(choices) == 6
    seen = draw(num=2, length=2, draws=6000)
    counts = Counter(tuple(map(tuple, epoch)) for epoch in seen.tolist())
    assert set(counts) <= set(choices)
    assert stats.chisquare([counts[c] for c in choices]).pvalue > 1e-3


def test_as_many_barcodes_as_strings_are_all_the_non_zero_strings() -> None:
    for epoch in draw(num=15, length=4, draws=50):
        assert sorted((epoch @ (2 ** np.arange(4))).tolist()) == list(range(1, 16))


def test_the_longest_barcodes_use_all_their_bits() -> None:
    bits = draw(num=1, length=MAX_BARCODE_LENGTH, draws=100)[:, 0]
    assert bits.any(axis=0).all() and not bits.all(axis=0).any()
    assert len(np.unique(bits, axis=1).T) == MAX_BARCODE_LENGTH  # no bit repeats another
