"""The sizes of stored states, against a cell whose growth can be worked by hand."""

from functools import cache, partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import words
from reinstate.agent import Agent, Network, make_agent
from reinstate.analysis.memory_map import BEYOND, evaluate_watched, stored_scores
from reinstate.evaluation import Condition, Evaluation, Record, evaluate_in
from reinstate.memory import DND
from reinstate.player import Decision, Player
from reinstate.runs.evaluator import Evaluator
from reinstate.tasks.bandits import BarcodeBandits
from reinstate_paper.barcode_bandits import BARCODE_BANDITS
from tiny import TINY, trained_run

# One context, met twelve times, for three pulls and the step that sees the last reward.
WORLD = BarcodeBandits(
    num_arms=2, pulls=3, num_contexts=1, repeats=12, barcode_length=4, mapping="independent"
)
CONDITION = Condition(WORLD, DND(capacity=12))


def an_agent(name: str = "epl2rl", **settings: Any) -> Agent:
    """An agent of two units whose gates and c_in are 1 on every step, but r = 0 in the second.

    So c counts steps: to 4 without a memory, to 4 (1 + c_ep) where c_ep is added on each.
    """
    agent = make_agent(name, WORLD, Network(hidden_size=2, **settings), key=jax.random.key(0))
    bias = jnp.full(agent.cell.bias.shape, 50.0)
    bias = bias.at[-1].set(-50.0) if agent.cell.episodic else bias
    flat = jnp.zeros_like(agent.cell.weight)
    return eqx.tree_at(lambda a: (a.cell.weight, a.cell.bias), agent, (flat, bias))


@cache
def played(**settings: Any) -> tuple[Record, Any]:
    agent = an_agent(**settings)
    play = eqx.filter_jit(lambda seed: evaluate_watched(CONDITION, agent, Evaluation(2), seed))
    return jax.tree.map(lambda x: np.asarray(x)[None], play(jnp.array(0)))


def shares_at(exposure: int, **settings: Any) -> list[float]:
    found = stored_scores(*played(**settings))
    assert found["beyond"] == [1, 10, 100, 1e3, 1e4, 1e5, 1e6]
    return found["by_exposure"]["mean"][exposure - 1]


def test_c_is_multiplied_with_every_exposure_until_it_is_clipped() -> None:
    """What is stored of the first unit: 4, 20, 84, 340, 1364, 5460, 21844, …; of the other, 4."""
    assert shares_at(1) == [1, 0, 0, 0, 0, 0, 0]
    assert shares_at(2) == [1, 0.5, 0, 0, 0, 0, 0]
    assert shares_at(3) == [1, 0.5, 0, 0, 0, 0, 0]
    assert shares_at(4) == [1, 0.5, 0.5, 0, 0, 0, 0]
    assert shares_at(7) == [1, 0.5, 0.5, 0.5, 0.5, 0, 0]
    assert shares_at(9) == [1, 0.5, 0.5, 0.5, 0.5, 0.5, 0]  # 349524
    assert shares_at(10) == shares_at(12) == [1, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5]


def test_added_once_it_grows_by_a_sum() -> None:
    """4, 8, 12, …, 48."""
    assert shares_at(2, reinstated="first-step") == [1, 0, 0, 0, 0, 0, 0]
    assert shares_at(12, reinstated="first-step") == [1, 0.5, 0, 0, 0, 0, 0]


def test_what_is_bounded_when_it_is_stored_does_not_grow() -> None:
    # (4, 4) is stored as (1, 1), then (8, 4) as (1.26, .63).
    assert shares_at(2, stored="rms") == shares_at(12, stored="rms") == [0.5, 0, 0, 0, 0, 0, 0]


def test_exposures_of_the_episode_that_stored_it() -> None:
    """Two seeds; the second meets nothing a third time."""
    exposure = np.array([[[0, 1, 0, 2]], [[0, 0, 1, 1]]])
    shares = np.zeros((2, 1, 4, len(BEYOND)))
    shares[..., 0] = [[[0.1, 0.5, 0.3, 1.0]], [[0.2, 0.4, 0.6, 0.9]]]
    record = played()[0]._replace(exposure=exposure)  # type: ignore[arg-type]
    found = np.array(stored_scores(record, shares)["by_exposure"]["per_seed"])
    assert found.shape == (2, 2, len(BEYOND))
    np.testing.assert_allclose(found[..., 0], [[0.2, 0.5], [0.3, 0.75]])
    assert not found[..., 1:].any()


def test_a_record_is_what_it_was() -> None:
    plain = eqx.filter_jit(lambda seed: evaluate_in(CONDITION, an_agent(), Evaluation(2), seed))
    before, (after, _) = plain(jnp.array(0)), played()
    assert before.report.keys() == after.report.keys() == set("ifor")
    assert before.outcome.keys() == after.outcome.keys()
    jax.tree.map(lambda x, y: np.testing.assert_array_equal(x, y[0]), before, after)


def shares_of(player: Any) -> Any:
    """Their shapes, which are known without playing."""
    play = partial(evaluate_watched, CONDITION, player, Evaluation(1))
    return jax.eval_shape(play, jnp.array(0))[1]


class Other(Player):
    """A player of its own kind, here one without weights."""

    remembers, value_size = True, 2

    def initial_state(self) -> Any:
        return jnp.zeros(2)

    def __call__(self, inputs: Any, recalled: Any, state: Any) -> Any:
        return state, Decision(jnp.zeros(2), jnp.zeros(()))


@pytest.mark.parametrize("player", ["l2rl", "another"])
def test_others_are_not_watched(player: str) -> None:
    assert shares_of(an_agent("l2rl") if player == "l2rl" else Other()) is None
    assert shares_of(an_agent()).shape == (1, 12, len(BEYOND))


def test_the_verdict_has_them_and_milestones_do_not(tmp_path: Any) -> None:
    evaluator = Evaluator(BARCODE_BANDITS, "epl2rl", TINY)
    state = evaluator.load(trained_run(tmp_path / "x"))
    verdict = evaluator.evaluate(state)
    assert np.shape(verdict["stored"]["by_exposure"]["per_seed"]) == (2, 2, len(BEYOND))
    assert "stored" not in evaluator.scores(evaluator.record(state))


def a_cell(rewards: list[float], clipped: float) -> dict[str, Any]:
    """A cell of results/cell-states.json; all units are beyond 1."""
    stored = {"beyond": [*BEYOND], "last_exposure": {"mean": [1, 0.5, 0.4, 0.3, 0.2, 0.2, clipped]}}
    about = {"command": "python x", "device": "cpu", "commit": "0123456789"}
    return {"reward": {"per_seed": rewards}, "r_gate": {"mean": 0.25}, "stored": stored, **about}


def test_leads_over_the_paper_are_by_seed_and_their_p_are_adjusted() -> None:
    """Leads .1, .2, .3: t = 3.464 with 2 degrees of freedom, p = .074; of −.2, −.1, −.3 too."""
    cells = {
        "paper": a_cell([7.0, 7.2, 7.4], 0.1),
        "tanh": a_cell([7.1, 7.4, 7.7], 0.0),
        "rms": a_cell([6.8, 7.1, 7.1], 0.0),
    }
    paper, tanh, rms = words.leads_of({"cells": {"water-maze": {"quick": cells}}})
    assert (paper["lead"], paper["p"], paper["adjusted"]) == (None, None, None)
    np.testing.assert_allclose(tanh["lead"], [0.1, 0.2, 0.3])
    assert [tanh["p"], rms["p"]] == pytest.approx([0.0742, 0.0742], abs=1e-4)
    assert [tanh["adjusted"], rms["adjusted"]] == pytest.approx([0.1484, 0.1484], abs=1e-4)
