"""What a part of an epoch takes, from times with and without it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from reinstate.agent import make_agent
from reinstate.bench.parts import PARTS, NoMemory, shares
from reinstate.evaluation import Evaluation, evaluate
from tiny import TINY


def test_parts_are_differences_and_add_up_to_training() -> None:
    times = {
        "training": [10.0, 20.0, 10.0],
        "without optimiser": [9.0, 18.0, 9.0],
        "playing": [5.0, 10.0, 5.0],
        "without memory": [3.0, 6.0, 3.0],
        "tasks": [0.5, 1.0, 0.5],
        "chance": [1.0, 2.0, 1.0],
    }
    found = {row["part"]: row["seconds"] for row in shares(times)}
    assert found == dict(zip(PARTS, [0.5, 1.0, 2.0, 1.5, 4.0, 1.0], strict=True))
    assert sum(row["share"] for row in shares(times)) == pytest.approx(1)


def test_what_comes_out_below_zero_counts_as_nothing() -> None:
    times = {"without optimiser": [2.0], "playing": [2.0]}
    times |= {"training": [1.9], "without memory": [1.0], "tasks": [0.0], "chance": [0.0]}
    found = {row["part"]: row["share"] for row in shares(times)}
    assert found["optimiser"] == 0 and found["memory"] == found["playing"] == 0.5


def test_a_memory_that_holds_nothing_recalls_nothing() -> None:
    agent = make_agent("epl2rl", TINY.task, TINY.network, key=jax.random.key(0))
    record = evaluate(TINY.task, agent, NoMemory(), Evaluation(1), jnp.array(0))
    assert np.all(np.isinf(record.distance)) and np.all(record.retrieved == -1)
