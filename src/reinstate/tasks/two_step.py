"""Experiment 5: the two-step task, with cues that bring back single past episodes."""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from reinstate import draws
from reinstate.errors import UserError, require_positive, require_probability
from reinstate.processes import exposures
from reinstate.tasks.bandits import barcodes, check_barcodes
from reinstate.tasks.base import UNIT, Bounds, Observation, World

FIRST_STAGE, SECOND_STAGE, OUTCOME = range(3)
NO_CUE = -1


class TwoStepTask(NamedTuple):
    context_id: Array  # () the episode whose context is met first: the cued one, or this one
    exposure: Array  # () how often it was met before
    cue: Array  # (context_size,) shown at the first stage of a cued episode
    context: Array  # (context_size,) this episode's own, shown at its second stage
    cue_episode: Array  # () the past episode that is cued; NO_CUE: none
    episode: Array  # () its place in the epoch
    good_state: Array  # () which of the second-stage states pays with p_high now
    cued_state: Array  # () where the cued episode ended; −1 until the epoch gets there
    cued_reward: Array  # () what it paid


class TwoStepState(NamedTuple):
    stage: Array  # ()
    reached: Array  # () the second-stage state; −1 at the first stage
    reward: Array  # () of the episode so far


class History(NamedTuple):
    """Where each of the epoch's episodes ended, and what it paid."""

    state: Array  # (episodes,)
    reward: Array  # (episodes,)


class TwoStepTrace(NamedTuple):
    cue_episode: Array  # (); NO_CUE: uncued
    state: Array  # () the second-stage state; −1 at the first stage
    good_state: Array  # ()
    worth: Array  # (2,) expected reward of the two first-stage actions


@dataclass(frozen=True)
class EpisodicTwoStep(World):
    """Episodic two-step task, section 4.5; the classic two-step task with cued = 0.

    - actions: two at the first stage; at the second stage they do nothing
    - transition: action a leads to state a with p_common, otherwise to the other one
    - reward: at the second stage, with p_high in the good state and p_low in the other; before
      every episode the two change places with p_reversal
    - cued episode: if it ends in the state where the cued one ended, it pays what that one paid
    - observation: the second-stage state, one-hot; zeros at the other stages
    - context: at the first stage the cue, or none; from the second stage on the episode's own
      barcode
    - epoch: `uncued` episodes, then `cued` ones, each cued by one of the uncued
    """

    p_common: float = 0.8
    """Probability of the common transition (.8 in Wang et al. 2018; the paper does not say)."""
    p_reversal: float = 0.1
    """Probability that the reward probabilities reverse before an episode."""
    p_high: float = 0.9
    """Reward probability of the good state."""
    p_low: float = 0.1
    """Reward probability of the bad state."""
    uncued: int = 50
    """Episodes without a cue, at the start of an epoch."""
    cued: int = 50
    """Cued episodes; 0: the classic two-step task."""
    barcode_length: int = 10
    """Bits per context."""

    num_actions, observation_size, episode_length = 2, 2, 2

    def __post_init__(self) -> None:
        require_positive(uncued=self.uncued)
        require_probability(p_common=self.p_common, p_reversal=self.p_reversal)
        require_probability(p_high=self.p_high, p_low=self.p_low)
        if self.cued < 0:
            raise UserError(f"cued must be 0 (the classic task) or more, not {self.cued}")
        require_positive(episodes_per_epoch=self.episodes_per_epoch)
        check_barcodes(self.episodes_per_epoch, self.barcode_length)

    @property
    def context_size(self) -> int:
        return self.barcode_length

    @property
    def episodes_per_epoch(self) -> int:
        return self.uncued + self.cued

    @property
    def max_exposures(self) -> int:
        return 1 + self.cued

    def bounds(self) -> Bounds:
        return Bounds(UNIT, UNIT, UNIT)

    def sample_epoch(self, key: Array) -> TwoStepTask:
        barcode_key, cue_key, start_key, reversal_key = jax.random.split(key, 4)
        num = self.episodes_per_epoch
        episode = jnp.arange(num, dtype=jnp.int32)
        barcode = barcodes(barcode_key, num, self.barcode_length)
        cue_episode = jnp.full(num, NO_CUE, jnp.int32)
        drawn = draws.integers(cue_key, self.cued, 0, self.uncued)
        cue_episode = cue_episode.at[self.uncued :].set(drawn)
        context_id = jnp.where(cue_episode == NO_CUE, episode, cue_episode)
        reversals = draws.uniform(reversal_key, num) < self.p_reversal
        first = (jax.random.uniform(start_key, dtype=jnp.float32) < 0.5).astype(jnp.int32)
        unknown = jnp.full(num, -1, jnp.int32)
        return TwoStepTask(
            context_id,
            exposures(context_id),
            barcode[context_id],
            barcode,
            cue_episode,
            episode,
            (first + jnp.cumsum(reversals, dtype=jnp.int32)) % 2,
            unknown,
            unknown.astype(jnp.float32),
        )

    def new_history(self) -> History:
        num = self.episodes_per_epoch
        return History(jnp.full(num, -1, jnp.int32), jnp.zeros(num, jnp.float32))

    def update_task(self, history: History, task: TwoStepTask) -> TwoStepTask:
        past = task.cue_episode
        return task._replace(cued_state=history.state[past], cued_reward=history.reward[past])

    def update_history(self, history: History, task: TwoStepTask, state: TwoStepState) -> History:
        return History(
            history.state.at[task.episode].set(state.reached),
            history.reward.at[task.episode].set(state.reward),
        )

    def reset(self, key: Array, task: TwoStepTask) -> TwoStepState:
        first, nowhere = jnp.array(FIRST_STAGE, jnp.int32), jnp.array(-1, jnp.int32)
        return TwoStepState(first, nowhere, jnp.zeros((), jnp.float32))

    def contexts(self, task: TwoStepTask) -> Array:
        return jnp.stack([task.cue, task.context])

    def context_ids(self, task: TwoStepTask) -> Array:
        return jnp.stack([task.context_id, task.episode])

    def observe(self, task: TwoStepTask, state: TwoStepState) -> Observation:
        arrived = state.stage == SECOND_STAGE
        features = jnp.where(arrived, jax.nn.one_hot(state.reached, 2, dtype=jnp.float32), 0.0)
        cue = jnp.where(task.cue_episode == NO_CUE, -1, 0)
        shown = jnp.where(state.stage == FIRST_STAGE, cue, 1)
        return Observation(features, shown.astype(jnp.int32))

    def step(
        self, key: Array, task: TwoStepTask, state: TwoStepState, action: Array
    ) -> tuple[TwoStepState, Array]:
        chance = jax.random.uniform(key, dtype=jnp.float32)
        arriving = state.stage == FIRST_STAGE
        reached = jnp.where(
            arriving, jnp.where(chance < self.p_common, action, 1 - action), state.reached
        ).astype(jnp.int32)
        reward = (chance < self._pay(task)[reached]).astype(jnp.float32)
        reward = jnp.where(arriving, 0.0, reward)
        return TwoStepState(state.stage + 1, reached, state.reward + reward), reward

    def _pay(self, task: TwoStepTask) -> Array:
        """Return the reward probability of each second-stage state, (2,): replayed, or current."""
        states = jnp.arange(2)
        fresh = jnp.where(states == task.good_state, self.p_high, self.p_low)
        replayed = (task.cue_episode != NO_CUE) & (states == task.cued_state)
        return jnp.where(replayed, task.cued_reward, fresh).astype(jnp.float32)

    def trace(self, task: TwoStepTask, state: TwoStepState) -> TwoStepTrace:
        pay = self._pay(task)
        worth = self.p_common * pay + (1 - self.p_common) * pay[::-1]
        return TwoStepTrace(task.cue_episode, state.reached, task.good_state, worth)

    def expected_rewards(self, task: TwoStepTask, state: TwoStepState) -> Array:
        paid_here = jnp.where(state.stage == SECOND_STAGE, self._pay(task)[state.reached], 0.0)
        return jnp.full(2, paid_here)
