"""The two-step task by its rules: transitions, reversals, and what a cue brings back."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from reinstate.agent import Network, make_agent
from reinstate.evaluation import Evaluation, evaluate
from reinstate.memory import DND
from reinstate.tasks.two_step import NO_CUE, EpisodicTwoStep

WORLD = EpisodicTwoStep(uncued=12, cued=10)
EPOCHS = 400


@pytest.fixture(scope="module")
def record() -> Any:
    """An untrained agent's behaviour: as good as random."""
    agent = make_agent("l2rl", WORLD, Network(4, reset="epoch"), key=jax.random.key(0))
    judge = partial(evaluate, WORLD, agent, DND(4), Evaluation(epochs=EPOCHS))
    return jax.tree.map(np.asarray, jax.jit(judge)(jnp.array(1)))


def test_a_cued_episode_that_ends_where_the_cued_one_did_pays_what_that_did(record: Any) -> None:
    state, reward = record.trace.state[..., 1], record.reward.sum(-1)
    cue = record.trace.cue_episode[..., 0]
    assert (cue[:, :12] == NO_CUE).all() and ((cue[:, 12:] >= 0) & (cue[:, 12:] < 12)).all()
    cue = cue[:, 12:]
    back = np.take_along_axis(state, cue, axis=1) == state[:, 12:]
    assert 0.4 < back.mean() < 0.6
    replayed = np.take_along_axis(reward, cue, axis=1)
    np.testing.assert_array_equal(reward[:, 12:][back], replayed[back])
    fresh, good = reward[:, 12:][~back], (record.trace.good_state[..., 1] == state)[:, 12:][~back]
    for odds, pays in ((0.9, fresh[good]), (0.1, fresh[~good])):
        assert pays.mean() == pytest.approx(odds, abs=4 * np.sqrt(0.09 / pays.size))


def test_the_reward_comes_with_the_second_stage_alone(record: Any) -> None:
    assert not record.reward[..., 0].any()
    pays = record.reward[:, :12, 1]
    good = (record.trace.good_state == record.trace.state)[:, :12, 1]
    for odds, paid in ((0.9, pays[good]), (0.1, pays[~good])):
        assert paid.mean() == pytest.approx(odds, abs=4 * np.sqrt(0.09 / paid.size))


def test_actions_lead_to_their_common_state(record: Any) -> None:
    common = record.trace.state[..., 1] == record.action[..., 0]
    assert common.mean() == pytest.approx(0.8, abs=4 * np.sqrt(0.16 / common.size))
    assert (record.trace.state[..., 0] == -1).all()


def test_reward_probabilities_reverse_once_in_ten_episodes(record: Any) -> None:
    good = record.trace.good_state[..., 0]
    reversed_ = good[:, 1:] != good[:, :-1]
    assert reversed_.mean() == pytest.approx(0.1, abs=4 * np.sqrt(0.09 / reversed_.size))
    assert good[:, 0].mean() == pytest.approx(0.5, abs=4 * np.sqrt(0.25 / EPOCHS))


def test_worth_is_the_mean_reward_of_a_first_action(record: Any) -> None:
    action, worth = record.action[..., 0], record.trace.worth[..., 0, :]
    chosen = np.take_along_axis(worth, action[..., None], axis=-1)[..., 0]
    surplus = record.reward.sum(-1) - chosen
    for part in (surplus[:, :12], surplus[:, 12:]):
        assert part.mean() == pytest.approx(0, abs=4 * part.std() / np.sqrt(part.size))
    assert np.corrcoef(chosen.ravel(), record.reward.sum(-1).ravel())[0, 1] > 0.3


def sample(world: EpisodicTwoStep, epochs: int = 1) -> Any:
    """Epochs of tasks, (epochs, episodes, …), compiled as a whole."""
    keys = jax.random.split(jax.random.key(0), epochs)
    return jax.tree.map(np.asarray, jax.jit(jax.vmap(world.sample_epoch))(keys))


def look_at_each_stage(task: Any) -> list[tuple[Any, Any]]:
    """States of an episode and what is observed there."""
    states = [WORLD.reset(jax.random.key(1), task)]
    for seed, action in ((2, 1), (3, 0)):
        states.append(WORLD.step(jax.random.key(seed), task, states[-1], jnp.array(action))[0])
    return [(state, WORLD.observe(task, state)) for state in states]


def test_what_is_seen_at_each_stage() -> None:
    tasks = sample(WORLD)
    uncued, cued = (jax.tree.map(lambda x, n=n: x[0, n], tasks) for n in (3, 15))
    look = jax.jit(look_at_each_stage)
    (_, first), (state, second), (_, outcome) = look(uncued)
    assert first.context == -1 and not first.features.any()
    assert second.context == 1 and second.features[state.reached] == 1 == second.features.sum()
    assert outcome.context == 1 and not outcome.features.any()
    assert look(cued)[0][1].context == 0
    contexts, own = WORLD.contexts(cued), tasks.context[0]
    np.testing.assert_array_equal(contexts, own[[int(cued.cue_episode), 15]])


def test_the_classic_task_has_no_cue() -> None:
    world = EpisodicTwoStep(uncued=8, cued=0)
    assert world.episodes_per_epoch == 8 and (sample(world).cue_episode == NO_CUE).all()
