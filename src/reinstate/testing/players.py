"""What every agent owes to whoever lets it play, and every memory to whoever uses it."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from reinstate import rivals  # noqa: F401  (registers them)
from reinstate.agent import AgentKind, Network, maker_of
from reinstate.learner import A2C, Learner
from reinstate.memory import DND, Memory
from reinstate.player import Inputs, Player
from reinstate.recompute import play_to_learn
from reinstate.rollout import start_lanes
from reinstate.tasks.bandits import BarcodeBandits
from reinstate.tasks.base import World
from reinstate.tasks.two_step import EpisodicTwoStep
from reinstate.testing.worlds import close, form_of, keys_of, require

LANES, WRITES, KEY_SIZE, VALUE_SIZE = 3, 5, 4, 3
# One always shows a context and no features, the other features and sometimes no context.
WORLDS = (
    BarcodeBandits(num_arms=2, pulls=3, num_contexts=3, repeats=2, barcode_length=4),
    EpisodicTwoStep(uncued=2, cued=2, barcode_length=4),
)


def check_agent(agent: AgentKind, worlds: Sequence[World] = WORLDS) -> None:
    """Hold what makes an agent to the contract of `reinstate.player.Player`."""
    make, network = maker_of(agent), Network(hidden_size=8)
    for world in worlds:
        its = make.memory_for(DND(), world, network)
        made = partial(make, world, network)
        player = made(key=jax.random.key(0))
        require(isinstance(player, Player), "an agent is a reinstate.Player")
        require(close(player, made(key=jax.random.key(0))), "a key always gives the same weights")
        _check_step(player, world, its)
        _check_learning(Learner(world, made, its, A2C(lanes=2, epochs=1)))


def _check_step(player: Player, world: World, memory: Memory) -> None:
    start, context = player.initial_state(), jnp.ones(world.context_size)
    recalled: Any = jnp.zeros(player.value_size)
    if player.remembers:
        contents = memory.empty(world.context_size, player.value_size)
        recalled, _, contents = player.read(memory, contents, context, start)
        after = player.write(memory, contents, context, start)
        require(form_of(after) == form_of(contents), "write keeps shapes and types of the contents")
    none = jnp.full((), -1, jnp.int32), jnp.zeros(()), jnp.ones((), bool)
    inputs = Inputs(jnp.zeros(world.observation_size), context, *none)
    state, decision = player(inputs, recalled, start)
    same = form_of(state) == form_of(start)
    require(same, "a step keeps structure, shapes and types of the state")
    require(decision.logits.shape == (world.num_actions,), "logits has a number for each action")
    require(decision.value.shape == (), "value is one number")
    finite = np.isfinite(decision.logits).all() and np.isfinite(decision.value)
    require(finite, "logits and value are finite")


def _check_learning(learner: Learner) -> None:
    """Differentiate a play; an agent's own way to the gradient has to find the same."""
    world, memory = learner.world, learner.memory
    tasks, keys = jax.vmap(world.sample_epoch, out_axes=1)(keys_of(2)), keys_of(2)
    params = learner.init(jnp.zeros((), jnp.int32)).params

    @partial(jax.jit, static_argnums=1)
    @partial(jax.grad, has_aux=True)
    def slope(params: Any, fused: bool) -> tuple[Array, Any]:
        player = learner.agent(params)
        start = start_lanes(world, player, memory, 2)
        played = play_to_learn(world, player, memory, start, tasks, keys, fused=fused)[1]
        logits, value = played.steps[:2]
        return jnp.mean(jax.nn.log_softmax(logits)[..., 0]) + jnp.mean(value**2), (logits, value)

    grads, decided = slope(params, True)
    parts = jax.tree.leaves(grads)
    require(all(np.isfinite(part).all() for part in parts), "gradients of the weights are finite")
    require(not parts or any(np.any(part) for part in parts), "weights get a gradient")
    if learner.agent(params).again is not None:
        same = close((grads, decided), slope(params, False), 1e-4)
        require(same, "again gives the logits, the values and the gradient of the play")


def check_memory(memory: Memory) -> None:
    """Hold a memory to the contract of `reinstate.memory.Memory`."""
    require(type(memory.fitted(WRITES)) is type(memory), "fitted gives a memory of the same kind")
    keys = jax.random.normal(jax.random.key(0), (LANES, WRITES, KEY_SIZE))
    values = jax.random.normal(jax.random.key(1), (LANES, WRITES, VALUE_SIZE))
    empty = memory.empty(KEY_SIZE, VALUE_SIZE)
    found, after = memory.read(empty, keys[0, 0])
    _check_found(found, 0)
    require(found.value == 0, "an empty memory recalls zeros")
    require(form_of(after) == form_of(empty), "read keeps shapes and types of the contents")
    fill = partial(_filled, memory)
    lanes = [jax.jit(fill)(*pairs) for pairs in zip(keys, values, strict=True)]
    require(form_of(lanes[0]) == form_of(empty), "write keeps shapes and types of the contents")
    for lane, query in zip(lanes, keys[:, -1], strict=True):
        found, after = memory.read(lane, query)
        _check_found(found, WRITES)
        require(found.written[0] > 0, "what has been written to recalls something")
        require(-1 <= int(memory.filled(after)) <= WRITES, "filled counts entries, or gives −1")
    batch = jax.jit(jax.vmap(fill))(keys, values)
    stacked = jax.tree.map(lambda *each: jnp.stack(each), *lanes)
    require(close(batch, stacked, 1e-5), "lanes are alone under jax.jit and jax.vmap")

    def recalled(value: Array) -> Array:
        return jnp.sum(memory.read(fill(keys[0], value), keys[0, 0])[0].value)

    slopes = jax.jit(jax.grad(recalled))(values[0])
    require(np.isfinite(slopes), "gradients of what is recalled are finite")


def _filled(memory: Memory, keys: Array, values: Array) -> Any:
    contents = memory.empty(keys.shape[-1], values.shape[-1])
    for key, value in zip(keys, values, strict=True):
        contents = memory.write(contents, key, value)
    return contents


def _check_found(found: Any, writes: int) -> None:
    whole = found.value.shape == (VALUE_SIZE,) and np.isfinite(found.value).all()
    require(whole, "value is (value_size,) and finite")
    distances, written = np.asarray(found.distances), np.asarray(found.written)
    listed = distances.ndim == 1 and distances.size and distances.shape == written.shape
    require(listed, "distances and written have one number for each neighbour")
    counted = (written >= 0) & (written <= writes)
    require(counted, "written has the numbers of writes, from 1; 0 where there is no neighbour")
    require(np.isinf(distances) == (written == 0), "distances are infinite where written is 0")
