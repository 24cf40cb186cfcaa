"""Double precision: everything plays and learns in a program that has switched it on."""

from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from reinstate.evaluation import Evaluation, evaluate_in
from reinstate.runs.evaluator import Evaluator
from reinstate.runs.experiment import find_experiment
from reinstate_paper import PAPER_EXPERIMENTS


@pytest.mark.parametrize("name", PAPER_EXPERIMENTS)
def test_training_and_evaluation(name: str) -> None:
    """Tracing is enough: what carries a wrong type from step to step fails there."""
    settings = find_experiment(name).preset("quick")
    learner = replace(settings.learner, lanes=2, epochs=2, episodes_per_update=1)
    settings = replace(settings, learner=learner, evaluation=Evaluation(epochs=2))
    with jax.enable_x64(True):
        evaluator = Evaluator(find_experiment(name), "epl2rl", settings)
        one, seed = evaluator.learner, jnp.array(0)
        state: Any = jax.eval_shape(one.init, seed)
        after, metrics = jax.eval_shape(one.train_epoch, state)
        play = partial(evaluate_in, evaluator.condition)
        record = jax.eval_shape(lambda p: play(one.agent(p), settings.evaluation, seed), after[0])
    assert jax.tree.map(lambda x: (x.shape, x.dtype), after) == jax.tree.map(
        lambda x: (x.shape, x.dtype), state
    )
    assert after.params.cell.weight.dtype == jnp.float64
    assert metrics.reward.dtype == record.reward.dtype == jnp.float32
