"""What every world owes to whoever lets agents play it."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from reinstate import draws
from reinstate.tasks.base import Observation, World

LANES, EPISODES = 3, 600
TYPES = {"int32", "float32", "bool"}

Identity = Callable[[np.ndarray], Sequence[Any]]


class ContractError(AssertionError):
    """A rule that a task, an agent or a memory breaks."""


def require(holds: Any, rule: str) -> None:
    if not np.all(holds):
        raise ContractError(rule)


def keys_of(num: int) -> Array:
    return jax.vmap(jax.random.key)(jnp.arange(num))


def close(one: Any, other: Any, tolerance: float = 0.0) -> bool:
    """Whether two trees have the same structure and numbers."""
    near = partial(np.allclose, rtol=0, atol=tolerance, equal_nan=True)
    structures: list[Any] = [jax.tree.structure(tree) for tree in (one, other)]
    same = structures[0] == structures[1]
    return same and all(map(near, jax.tree.leaves(one), jax.tree.leaves(other)))


def form_of(tree: Any) -> Any:
    """Return structure, shapes and types."""
    return jax.tree.map(lambda x: (jnp.shape(x), jnp.result_type(x)), tree)


def exact(contexts: np.ndarray) -> list[bytes]:
    """Name contexts that come back exactly as they were."""
    return [context.tobytes() for context in contexts]


def check_task(world: World, identity: Identity = exact) -> None:
    """Hold a world to the contract of `reinstate.tasks.base.World`.

    `identity` gives for contexts, (contexts, size), what stays the same of each when it comes back.
    Those that never look the same twice need none.
    """
    _check_sizes(world)
    _check_types(world)
    epochs = jax.jit(partial(jax.lax.map, world.sample_epoch))(keys_of(LANES))
    _check_epochs(world, epochs)
    contexts = np.asarray(jax.vmap(jax.vmap(world.contexts))(epochs))
    _check_contexts(world, epochs, contexts, identity)
    _check_play(world, epochs, contexts.shape[2])


def _check_sizes(world: World) -> None:
    names = "num_actions", "context_size", "episode_length", "episodes_per_epoch", "max_exposures"
    for name, least in (*((name, 1) for name in names), ("observation_size", 0)):
        size = getattr(world, name)
        require(type(size) is int and size >= least, f"{name} is an int of {least} or more")
    test = world.for_evaluation()
    require(test.for_evaluation() == test, "for_evaluation() of what it returned changes nothing")
    for name in ("num_actions", "observation_size", "context_size", "episode_length"):
        kept = getattr(test, name) == getattr(world, name)
        require(kept, f"for_evaluation() keeps {name}: what was learned has to fit")


def _around_a_step(world: World, key: Array) -> dict[str, Any]:
    """Return all that a world hands to its driver, around one step of one episode."""
    history = world.new_history()
    task = jax.tree.map(lambda x: x[0], world.sample_epoch(key))
    updated = world.update_task(history, task)
    state = world.reset(key, updated)
    after, reward = world.step(key, updated, state, jnp.zeros((), jnp.int32))
    return {
        "update_task": (task, updated),
        "step": (state, after),
        "update_history": (history, world.update_history(history, updated, after)),
        "the reward": reward,
        "observe": world.observe(updated, state),
        "keys_to_store": world.keys_to_store(updated, after),
        "contexts": (world.contexts(updated), world.context_ids(updated)),
        "expected_rewards": world.expected_rewards(updated, state),
        "trace": world.trace(updated, state),
    }


def _check_types(world: World) -> None:
    """Check what scans over steps and episodes rely on; nothing is run."""
    for x64 in (False, True):
        with jax.enable_x64(x64):
            found = jax.eval_shape(partial(_around_a_step, world), jax.random.key(0))
        for name in ("update_task", "step", "update_history"):
            before, after = found[name]
            require(before == after, f"{name} keeps structure, shapes and types")
        for name, part in found.items():
            kinds = {str(leaf.dtype) for leaf in jax.tree.leaves(part)}
            rule = f"{name}: integers are int32 and floats float32, also under jax_enable_x64"
            require(kinds <= TYPES, rule)
        stored = found["keys_to_store"].shape == (world.writes_per_episode,)
        require(stored, "keys_to_store gives writes_per_episode rows")
    key, share = jax.random.key(0), jax.ShapeDtypeStruct((), jnp.float32)
    learning = jax.eval_shape(world.sample_training_epoch, key, share)
    same = learning == jax.eval_shape(world.sample_epoch, key)
    require(same, "sample_training_epoch gives the shapes of sample_epoch")


def _check_epochs(world: World, epochs: Any) -> None:
    shape = LANES, world.episodes_per_epoch
    led = all(leaf.shape[:2] == shape for leaf in jax.tree.leaves(epochs))
    require(led, "every array of sample_epoch has the episode as its leading axis")
    for ids, exposure in zip(epochs.context_id.tolist(), epochs.exposure.tolist(), strict=True):
        counted = [ids[:n].count(i) for n, i in enumerate(ids)]
        require(exposure == counted, "exposure counts earlier episodes of the same context_id")
    most = int(epochs.exposure.max()) < world.max_exposures
    require(most, "no context is met more often than max_exposures")
    batched = jax.jit(jax.vmap(world.sample_epoch))(keys_of(LANES))
    require(close(batched, epochs), "a key gives the same epoch alone and in a batch")


def _check_contexts(world: World, epochs: Any, contexts: np.ndarray, identity: Identity) -> None:
    sized = contexts.ndim == 4 and contexts.shape[-1] == world.context_size
    require(sized, "contexts gives (shown, context_size)")
    long = np.linalg.norm(contexts, axis=-1) > 0
    require(long, "no context is all zero: cosine distance needs a direction")
    names = np.asarray(jax.vmap(jax.vmap(world.context_ids))(epochs))
    whole = names.shape == contexts.shape[:3] and np.issubdtype(names.dtype, np.integer)
    require(whole, "context_ids gives an integer for each context")
    whose = [identity(each.reshape(-1, world.context_size)) for each in contexts]
    if identity is exact and all(len(set(each)) == len(each) for each in whose):
        return
    first = [each[:: contexts.shape[2]] for each in whose]
    for name, ids, its in (("context_ids", names, whose), ("context_id", epochs.context_id, first)):
        for lane, each in zip(np.asarray(ids), its, strict=True):
            pairs = set(zip(lane.ravel().tolist(), each, strict=True))
            one = len(pairs) == len(dict(pairs)) == len({context for _, context in pairs})
            require(one, f"{name}: an epoch's context has one id, and an id one context")


class _Played(NamedTuple):
    seen: Observation
    expected: Array  # (episodes, steps, num_actions)
    action: Array  # (episodes, steps)
    reward: Array  # (episodes, steps)
    over: Array  # (episodes, steps) whether the episode had ended before


def _play_at_random(world: World, task: Any, key: Array) -> _Played:
    def act(state: Any, key: Array) -> tuple[Any, _Played]:
        action_key, step_key = jax.random.split(key)
        action = jax.random.randint(action_key, (), 0, world.num_actions, jnp.int32)
        seen, expected = world.observe(task, state), world.expected_rewards(task, state)
        over = world.done(task, state)
        over = jnp.zeros((), bool) if over is None else over
        after, reward = world.step(step_key, task, state, action)
        after = jax.tree.map(lambda old, new: jnp.where(over, old, new), state, after)
        return after, _Played(seen, expected, action, reward, over)

    chance = draws.split(key, 1 + world.episode_length)
    return jax.lax.scan(act, world.reset(chance[0], task), chance[1:])[1]


def _check_play(world: World, epochs: Any, shown: int) -> None:
    """Play episodes of random actions in all the tasks sampled, compiled and batched."""
    which = np.arange(EPISODES) % (LANES * world.episodes_per_epoch)
    tasks = jax.tree.map(lambda x: np.concatenate(np.asarray(x))[which], epochs)
    played = jax.jit(jax.vmap(partial(_play_at_random, world)))(tasks, keys_of(EPISODES))
    (features, row), expected, action, reward, over = jax.tree.map(np.asarray, played)
    steps = EPISODES, world.episode_length
    whole = features.shape == (*steps, world.observation_size) and np.isfinite(features).all()
    require(whole, "observe gives observation_size finite features")
    pointed = row.shape == steps and np.all((row >= -1) & (row < shown))
    require(pointed, "observe points at a row of contexts, or says −1")
    paid = reward.shape == steps and np.isfinite(reward).all()
    require(paid, "step gives a finite reward")
    whole = expected.shape == (*steps, world.num_actions)
    require(whole, "expected_rewards gives a number for each action; NaN: it cannot be told")
    # Given state and action, reward minus expectation has mean zero, so over steps it is a
    # martingale: its sum has about the deviation of independent terms.
    expected = np.take_along_axis(expected, action[..., None], axis=2)[..., 0]
    parts = [action == chosen for chosen in range(world.num_actions)]
    # A good and a bad arm must not make up for each other.
    parts += [expected == promised for promised in np.unique(expected)]
    for part in parts:
        mine = (reward - expected)[part & ~over]
        if mine.size >= 100 and np.isfinite(mine).all():
            near = abs(mine.mean()) <= 4 * mine.std() / np.sqrt(mine.size) + 1e-6
            require(near, "expected_rewards are the means of the rewards that step pays")
