"""Whether the memory found the right context, counted by hand."""

from typing import Any

import numpy as np

from reinstate.analysis.exposures import retrieval_accuracy
from reinstate.evaluation import Record

CONTEXT = [[[5, 6, 5, 6]], [[5, 5, 5, 6]]]  # (seeds, epochs, episodes)
EXPOSURE = [[[0, 0, 1, 1]], [[0, 1, 2, 0]]]


def a_record(retrieved: Any) -> Record:
    """`retrieved` is that of the first step; the second step's is not to count."""
    nothing = np.zeros((2, 1, 4, 2))
    gates = {"r": nothing}
    steps = np.stack([np.array(retrieved), np.full((2, 1, 4), -1)], axis=-1)
    fields: list[Any] = [np.array(CONTEXT), np.array(EXPOSURE), *[nothing] * 4, gates, gates]
    return Record(*fields, *[nothing, steps, ()])


def test_only_contexts_met_before_count() -> None:
    # Seed 0: of its two known contexts, the second gets a state of the other context. Seed 1: both
    # right. What comes back for a novel context is wrong of necessity, and left out.
    found = retrieval_accuracy(a_record([[[-1, 0, 0, 0]], [[-1, 0, 1, 2]]]))
    assert found is not None
    assert found["per_seed"] == [0.5, 1.0] and found["mean"] == 0.75


def test_a_state_of_an_earlier_episode_of_the_context_will_do() -> None:
    found = retrieval_accuracy(a_record([[[-1, 0, 0, 1]], [[-1, 0, 0, 1]]]))
    assert found is not None and found["per_seed"] == [1.0, 1.0]


def test_an_agent_without_memory_has_no_accuracy() -> None:
    assert retrieval_accuracy(a_record(np.full((2, 1, 4), -1))) is None
