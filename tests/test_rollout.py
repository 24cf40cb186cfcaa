"""The rollout resets, reads and writes; everything that learns or is judged rests on it."""

from dataclasses import replace
from functools import cache, partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from reinstate.agent import Agent, Network, make_agent
from reinstate.memory import DND, Consolidating, Contents, Found, Memory
from reinstate.memory.recognition import Recognition
from reinstate.player import Decision, Inputs, Player
from reinstate.rollout import Episode, EpochState, Options, Step, play, start_epoch, start_lanes
from reinstate.settings import Settings
from reinstate.tasks.bandits import BanditTask, BarcodeBandits
from reinstate.tasks.base import Observation, World
from reinstate.tasks.compositional import CompositionalBandits
from reinstate.tasks.two_step import EpisodicTwoStep

WORLD = BarcodeBandits(num_arms=3, pulls=4, num_contexts=3, repeats=3, barcode_length=4)
NETWORK = Network(hidden_size=8)
DICTIONARY = DND(capacity=5)
# By hand, but not operation by operation: each would be compiled by itself.
READ, WRITE = jax.jit(DICTIONARY.read), jax.jit(DICTIONARY.write)
STEP = eqx.filter_jit(lambda agent, *seen: agent(*seen))


def fresh_memory() -> Contents:
    return DICTIONARY.empty(WORLD.context_size, NETWORK.hidden_size)


def a_life(agent: Agent) -> EpochState:
    return start_epoch(WORLD, agent, DICTIONARY)


@cache
def an_agent(name: str) -> Agent:
    with jax.ensure_compile_time_eval():
        return make_agent(name, WORLD, NETWORK, key=jax.random.key(1))


@partial(jax.jit, static_argnums=0)
def an_epoch(name: str, key: Array) -> tuple[BanditTask, Contents, Step]:
    task_key, play_key = jax.random.split(key)
    tasks = WORLD.sample_epoch(task_key)
    agent = an_agent(name)
    life, played = play(WORLD, agent, DICTIONARY, a_life(agent), tasks, play_key)
    return tasks, life.memory, played.steps


def replay(
    agent: Agent, steps: Step, episode: int, c_ep: Any, later: Any = None
) -> tuple[list[Array], Any]:
    """The agent stepped by hand through a recorded episode, then once more to see its outcome.

    What comes back is c_ep or, after the first step, `later`.
    """
    state, logits = agent.initial_state(), []
    action, reward = jnp.array(-1), jnp.zeros(())
    for t in range(WORLD.pulls + 1):
        inputs = Inputs(
            jnp.zeros(0), jnp.zeros(WORLD.context_size), action, reward, jnp.array(t == 0)
        )
        state, decision = STEP(agent, inputs, c_ep, state)
        logits.append(decision.logits)
        if t < WORLD.pulls:
            action, reward = steps.action[episode, t], steps.reward[episode, t]
        c_ep = c_ep if later is None else later
    return logits[:-1], state


def test_memory_holds_the_state_that_has_seen_the_last_reward() -> None:
    agent = an_agent("epl2rl")
    tasks, memory, steps = an_epoch("epl2rl", jax.random.key(0))
    by_hand = fresh_memory()
    for n in range(WORLD.episodes_per_epoch):
        found, by_hand = READ(by_hand, tasks.context[n])
        logits, state = replay(agent, steps, n, found.value)
        np.testing.assert_allclose(jnp.stack(logits), steps.logits[n], atol=1e-5)
        by_hand = WRITE(by_hand, tasks.context[n], state.c)
    np.testing.assert_allclose(memory.values, by_hand.values, atol=1e-5)
    np.testing.assert_array_equal(memory.keys, by_hand.keys)
    assert int((memory.written > 0).sum()) == WORLD.num_contexts


@pytest.mark.parametrize(
    ("dnd", "slots"),
    [
        (DND(capacity=2000), 9),  # three contexts, three times each
        (DND(capacity=9), 9),
        (DND(capacity=4), 4),  # one that forgets goes on forgetting
        (DND(capacity=20, k=12), 12),  # neighbours need as many slots
    ],
)
def test_a_memory_needs_no_more_slots_than_an_epoch_can_fill(dnd: DND, slots: int) -> None:
    assert dnd.fitted(WORLD.episodes_per_epoch) == replace(dnd, capacity=slots)
    assert dnd.fitted(2 * WORLD.episodes_per_epoch).capacity == min(dnd.capacity, 18)


@pytest.mark.parametrize(("stored", "slots"), [("queried", 6), ("both", 12)])
def test_learners_fit_their_memory_to_the_epoch(stored: Any, slots: int) -> None:
    world = CompositionalBandits(num_classes=4, repeats=3, stimuli="barcodes", stored=stored)
    learner = Settings(task=world, memory=DND(capacity=2000)).make_learner("epl2rl")
    assert learner.memory == DND(capacity=slots)


def test_slots_that_stay_empty_change_nothing() -> None:
    """An epoch with a memory that is fitted to it, and with one of 50 slots."""
    dnd, agent, key = DND(capacity=50, k=2), an_agent("epl2rl"), jax.random.key(5)
    fitted, roomy = (start_epoch(WORLD, agent, each) for each in (dnd.fitted(9), dnd))
    assert len(fitted.memory.keys) == 9 and len(roomy.memory.keys) == 50
    tasks, run = WORLD.sample_epoch(key), jax.jit(partial(play, WORLD, agent, dnd))
    (after, few), (after_too, many) = (run(life, tasks, key) for life in (fitted, roomy))
    jax.tree.map(np.testing.assert_array_equal, few, many)
    np.testing.assert_array_equal(after.memory.values, after_too.memory.values[:9])
    assert not np.any(after_too.memory.written[9:])


def test_a_context_met_before_is_found_and_changes_the_first_decision() -> None:
    tasks, _, steps = an_epoch("epl2rl", jax.random.key(3))
    exact = np.asarray(steps.distance[:, 0]) < 1e-6
    np.testing.assert_array_equal(exact, np.asarray(tasks.exposure) > 0)
    first = np.asarray(steps.logits[:, 0])
    assert np.isinf(steps.distance[0, 0])
    assert np.abs(first[exact] - first[0]).max(axis=1).min() > 1e-6


def test_gradients_through_storage_are_those_of_the_first_episode_s_state() -> None:
    """Two episodes of one context by hand, the second given what the first has become.

    Unless it is asked for, they stop at stored states.
    """
    key = jax.random.key(5)
    tasks: Any = jax.tree.map(lambda x: x[jnp.array([0, 0])], WORLD.sample_epoch(key))
    params, static = eqx.partition(an_agent("epl2rl"), eqx.is_array)
    weigh = jnp.sin(jnp.arange(12.0)).reshape(4, 3)

    @partial(jax.jit, static_argnums=1)
    def played(params: Any, through: bool) -> tuple[Any, Step]:
        def logits_of_second(params: Any) -> tuple[Array, Step]:
            agent = eqx.combine(params, static)
            asked = Options(through_storage=through)
            _, (steps, *_) = play(WORLD, agent, DICTIONARY, a_life(agent), tasks, key, asked)
            return jnp.sum(steps.logits[1] * weigh), steps

        return jax.grad(logits_of_second, has_aux=True)(params)

    @jax.jit
    def by_hand(params: Any, steps: Step, through: Array) -> Any:
        def logits_of_second(params: Any) -> Array:
            agent = eqx.combine(params, static)
            _, state = replay(agent, steps, 0, jnp.zeros(NETWORK.hidden_size))
            c_ep = jnp.where(through, state.c, jax.lax.stop_gradient(state.c))
            return jnp.sum(jnp.stack(replay(agent, steps, 1, c_ep)[0]) * weigh)

        return jax.grad(logits_of_second)(params)

    found = {}
    for through in (False, True):
        gradient, steps = played(params, through)
        expected = by_hand(params, steps, jnp.array(through))
        jax.tree.map(partial(np.testing.assert_allclose, atol=1e-5), gradient, expected)
        found[through] = np.asarray(gradient.cell.weight)
    assert np.abs(found[True] - found[False]).max() > 1e-3


def test_what_comes_back_is_multiplied_by_recall() -> None:
    agent, tasks = an_agent("epl2rl"), WORLD.sample_epoch(jax.random.key(0))
    start, key = a_life(agent), jax.random.key(3)

    @jax.jit
    def run(recall: Array) -> tuple[EpochState, Episode]:
        return play(WORLD, agent, DICTIONARY, start, tasks, key, Options(recall=recall))

    for recall in (0.0, 0.5):
        life, (steps, *_) = run(jnp.array(recall))
        by_hand = fresh_memory()
        for n in range(4):
            found, by_hand = DICTIONARY.read(by_hand, tasks.context[n])
            logits, state = replay(agent, steps, n, recall * found.value)
            np.testing.assert_allclose(jnp.stack(logits), steps.logits[n], atol=1e-5)
            by_hand = DICTIONARY.write(by_hand, tasks.context[n], state.c)
        # At 0 the memory is read in vain, but it is read and written all the same.
        assert int((life.memory.written > 0).sum()) == WORLD.num_contexts
        known = np.asarray(tasks.exposure) > 0
        assert np.all(np.asarray(steps.retrieved)[known] >= 0)
        first = np.asarray(steps.logits[:, 0])
        assert np.allclose(first, first[0], atol=1e-6) == (recall == 0)


def test_a_state_reinstated_hundreds_of_times_stays_finite() -> None:
    """Reinstated on every step and stored again, c can nearly double with each exposure."""
    world = BarcodeBandits(num_arms=2, pulls=10, num_contexts=1, repeats=300, mapping="independent")
    agent = make_agent("epl2rl", world, NETWORK, key=jax.random.key(1))
    start = start_epoch(world, agent, DICTIONARY)
    tasks = world.sample_epoch(jax.random.key(0))
    life, played = jax.jit(partial(play, world, agent, DICTIONARY))(start, tasks, jax.random.key(0))
    assert np.isfinite(life.memory.values).all() and np.isfinite(played.steps.logits).all()
    assert np.abs(life.memory.values).max() > 1e5  # it did grow


@pytest.mark.parametrize("unroll", [2, 4])
def test_unrolling_changes_nothing_but_speed(unroll: int) -> None:
    tasks, _, steps = an_epoch("epl2rl", jax.random.key(0))
    _, play_key = jax.random.split(jax.random.key(0))
    agent = an_agent("epl2rl")
    again = jax.jit(partial(play, WORLD, agent, DICTIONARY, options=Options(unroll)))
    _, (unrolled, *_) = again(a_life(agent), tasks, play_key)
    np.testing.assert_array_equal(unrolled.action, steps.action)
    np.testing.assert_allclose(unrolled.logits, steps.logits, atol=1e-5)


def test_actions_are_drawn_from_the_policy() -> None:
    agent = an_agent("l2rl")
    probabilities = jnp.array([0.6, 0.3, 0.1])
    head = eqx.tree_at(
        lambda h: (h.weight, h.bias),
        agent.head,
        (jnp.zeros_like(agent.head.weight), jnp.append(jnp.log(probabilities), 0.0)),
    )
    agent = eqx.tree_at(lambda a: a.head, agent, head)
    lanes = 400
    keys = jax.random.split(jax.random.key(2), lanes)
    tasks = jax.vmap(WORLD.sample_epoch)(keys)
    lives = start_lanes(WORLD, agent, DICTIONARY, lanes)
    _, (steps, *_) = jax.jit(jax.vmap(partial(play, WORLD, agent, DICTIONARY)))(lives, tasks, keys)
    draws = lanes * WORLD.episodes_per_epoch * WORLD.pulls
    frequency = np.bincount(np.asarray(steps.action).ravel(), minlength=3) / draws
    error = np.sqrt(np.asarray(probabilities) * (1 - np.asarray(probabilities)) / draws)
    np.testing.assert_array_less(np.abs(frequency - probabilities), 4 * error)


def test_the_episode_whose_state_came_back_is_known() -> None:
    tasks, _, steps = an_epoch("epl2rl", jax.random.key(3))
    latest: dict[int, int] = {}
    for n, context in enumerate(tasks.context_id.tolist()):
        if context in latest:
            np.testing.assert_array_equal(steps.retrieved[n], latest[context])
        latest[context] = n
    assert np.all(steps.retrieved[0] == -1)


class TwoKeys(BarcodeBandits):
    """Shows one context and stores the episode under two."""

    @property
    def writes_per_episode(self) -> int:
        return 2

    def contexts(self, task: BanditTask) -> Array:
        return jnp.stack([task.context, 1 - task.context])

    def keys_to_store(self, task: BanditTask, state: Array) -> Array:
        return jnp.array([0, 1])


def test_an_episode_may_be_stored_under_several_keys() -> None:
    world = TwoKeys(num_arms=3, pulls=4, num_contexts=3, repeats=3, barcode_length=4)
    agent, dnd = an_agent("epl2rl"), DND(capacity=6)
    tasks: Any = world.sample_epoch(jax.random.key(3))
    life, played = jax.jit(partial(play, world, agent, dnd))(
        start_epoch(world, agent, dnd), tasks, jax.random.key(0)
    )
    for n in range(3, 9):  # whichever key was nearest, the episode is one of the past
        assert np.all((played.steps.retrieved[n] >= 0) & (played.steps.retrieved[n] < n))
    last = np.asarray(life.memory.values)[np.argsort(life.memory.written)[-2:]]
    np.testing.assert_allclose(last[0], last[1], rtol=1e-6)
    again = np.asarray(tasks.exposure) > 0
    assert np.all(np.asarray(played.steps.distance)[again] < 1e-6)


class Silent(BarcodeBandits):
    """Shows no context at all."""

    def observe(self, task: BanditTask, state: Array) -> Observation:
        return super().observe(task, state)._replace(context=jnp.array(-1))

    def keys_to_store(self, task: BanditTask, state: Array) -> Array:
        return jnp.array([0])


def test_without_a_context_on_show_nothing_comes_back() -> None:
    world = Silent(num_arms=3, pulls=4, num_contexts=3, repeats=3, barcode_length=4)
    agent = an_agent("epl2rl")
    tasks = world.sample_epoch(jax.random.key(3))
    life, (steps, *_) = jax.jit(partial(play, world, agent, DICTIONARY))(
        start_epoch(world, agent, DICTIONARY), tasks, jax.random.key(0)
    )
    assert int((life.memory.written > 0).sum()) == 3  # there was something to recall
    assert np.all(np.isinf(steps.distance)) and np.all(steps.retrieved == -1)
    np.testing.assert_allclose(steps.logits[:, 0], steps.logits[:1, 0].repeat(9, axis=0))


def test_an_agent_that_outlives_episodes_is_stepped_on_through_the_epoch() -> None:
    agent = make_agent("l2rl", WORLD, replace(NETWORK, reset="epoch"), key=jax.random.key(1))
    tasks = WORLD.sample_epoch(jax.random.key(0))
    life, (steps, *_) = jax.jit(partial(play, WORLD, agent, DICTIONARY))(
        a_life(agent), tasks, jax.random.key(0)
    )
    state, nothing = agent.initial_state(), (jnp.array(-1), jnp.zeros(()))
    for n in range(WORLD.episodes_per_epoch):
        taken = list(zip(steps.action[n], steps.reward[n], strict=True))
        for t, (action, reward) in enumerate([nothing, *taken]):  # the last one sees the outcome
            sees = jnp.zeros(0), jnp.zeros(WORLD.context_size), action, reward, jnp.array(t == 0)
            state, decision = agent(Inputs(*sees), jnp.zeros(NETWORK.hidden_size), state)
            if t < WORLD.pulls:
                np.testing.assert_allclose(decision.logits, steps.logits[n, t], atol=1e-5)
    np.testing.assert_allclose(life.player.c, state.c, atol=1e-5)


PAIRS = CompositionalBandits(num_classes=4, repeats=4, pulls=3, stimuli="barcodes")


class Probe(Player):
    """Stores 7, acts at random, and reports what it recalls, what is on show, and if for long."""

    remembers, value_size = True, 1

    def initial_state(self) -> Array:
        return jnp.full(1, 7.0)

    def __call__(self, inputs: Inputs, recalled: Any, state: Any) -> tuple[Any, Decision]:
        shown = jnp.dot(inputs.context, 2.0 ** jnp.arange(inputs.context.size))
        report = {"shown": shown, "first": inputs.first_shown, **self.returned(recalled)}
        return state, Decision(jnp.zeros(2), jnp.zeros(()), report)

    def returned(self, recalled: Any) -> dict[str, Array]:
        return {"value": recalled}


class Recollecting(Probe):
    """Makes a tree of what is found."""

    def read(
        self, memory: Memory, contents: Any, context: Array, state: Any
    ) -> tuple[Any, Found, Any]:
        found, contents = memory.read(contents, context)
        return {"both": (found.value, found.written[0].astype(jnp.float32))}, found, contents

    def returned(self, recalled: Any) -> dict[str, Array]:
        value, written = recalled["both"]
        return {"value": value, "written": written}


@partial(jax.jit, static_argnums=(0, 1))
def probed(player: Probe, world: World, recall: Array) -> Episode:
    memory, key = DND(capacity=20), jax.random.key(4)
    start, tasks = start_epoch(world, player, memory), world.sample_epoch(key)
    return play(world, player, memory, start, tasks, key, Options(recall=recall))[1]


def through_episodes(episodes: Episode, name: str) -> np.ndarray:
    """A report on each step and on the one after them, (episodes, steps + 1)."""
    return np.column_stack([episodes.steps.report[name], episodes.outcome[name]])


def test_a_player_gets_the_value_on_every_step_unless_it_asks_for_more() -> None:
    for player in (Probe(), Recollecting()):
        episodes = probed(player, PAIRS, jnp.ones(()))
        value = through_episodes(episodes, "value")
        assert not value[0].any() and np.all(value[1:] == 7)
    written = through_episodes(episodes, "written")
    np.testing.assert_array_equal(written[:, :-1], episodes.steps.retrieved + 1)


def test_players_are_told_which_contexts_are_shown_for_the_first_time() -> None:
    episodes = probed(Probe(), PAIRS, jnp.ones(()))
    shown, told = (through_episodes(episodes, name) for name in ("shown", "first"))
    first = np.array([[now not in row[:t] for t, now in enumerate(row)] for row in shown.tolist()])
    # Both stimuli of an episode are, each once; in some the second only after the last pull.
    assert (first.sum(axis=1) == 2).any() and first[:, -1].any() and not first[:, 1:-1].all()
    np.testing.assert_array_equal(told, first)


def test_steps_that_show_no_context_show_none_for_the_first_time() -> None:
    """Row −1, as at the first stage of an uncued episode of the two-step task, is not the last."""
    world = EpisodicTwoStep(uncued=4, cued=4, barcode_length=5)
    episodes = probed(Probe(), world, jnp.ones(()))
    shown, first = (through_episodes(episodes, name) > 0 for name in ("shown", "first"))
    assert shown.tolist() == [[False, True, True]] * 4 + [[True] * 3] * 4
    assert first.tolist() == [[False, True, False]] * 4 + [[True, True, False]] * 4
    assert not through_episodes(episodes, "value")[~shown].any()


def test_without_recall_nothing_of_a_tree_comes_back() -> None:
    episodes = probed(Recollecting(), PAIRS, jnp.zeros(()))
    for name in ("value", "written"):
        assert not through_episodes(episodes, name).any()
    assert np.all(np.asarray(episodes.steps.retrieved)[1:] >= 0)  # it was read all the same


@pytest.mark.parametrize("once", [True, False])
def test_a_recollection_is_reinstated_when_its_context_is_first_shown(once: bool) -> None:
    """An epoch by hand of the agent that recognises; on later steps its cues are 0 as well."""
    recognition = Recognition(once=once, age=True, null_slot=True)
    network = replace(NETWORK, recognition=recognition)
    memory = Consolidating(capacity=5, k=3, reach=0.3)
    agent = make_agent("epl2rl-recognition", WORLD, network, key=jax.random.key(1))
    tasks: Any = WORLD.sample_epoch(jax.random.key(0))
    life, (steps, *_) = jax.jit(partial(play, WORLD, agent, memory))(
        start_epoch(WORLD, agent, memory), tasks, jax.random.key(3)
    )
    by_hand = memory.empty(WORLD.context_size, NETWORK.hidden_size)
    for n in range(4):
        found, by_hand = memory.read(by_hand, tasks.context[n])
        recollection = agent.recognizer(found)
        later = jax.tree.map(jnp.zeros_like, recollection) if once else recollection
        logits, state = replay(agent, steps, n, recollection, later)
        np.testing.assert_allclose(jnp.stack(logits), steps.logits[n], atol=1e-5)
        by_hand = memory.write(by_hand, tasks.context[n], state.c)
    assert np.any(recollection.cues != 0) and np.any(recollection.c_ep != 0)
    assert int(memory.filled(life.memory)) <= WORLD.num_contexts
