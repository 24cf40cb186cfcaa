"""Recurrent PPO with an episodic memory, in one file: `make_train(config)` returns `train(key)`.

Nothing of the agents and learners of this package is used: barcode bandits are an environment in
the convention of gymnax, in which an epLSTM plays exposure after exposure. Its state starts from
zero in each; only the dictionary reaches from one exposure of a context to the next. All of
training is one compiled function, which takes half a minute on two cores.

    python examples/recurrent_ppo.py

What is recalled as an exposure starts is kept with the batch. Minibatches replay exposures from
it: they need no memory, and gradients are those of the play, since none reach what is stored.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax import Array

from reinstate import DND, EpisodicLSTMCell
from reinstate.baselines.bandits import bandit_optimum
from reinstate.cell import LSTMState
from reinstate.interop.functional import Environment
from reinstate.tasks.bandits import BarcodeBandits

WORLD = BarcodeBandits(num_arms=3, pulls=4, num_contexts=3, repeats=5, barcode_length=3)
ENV = Environment(WORLD, per="exposure", last_step=True)
DICTIONARY = DND(capacity=WORLD.num_contexts)
CONTEXT = ENV.layout["context"]


class Config(NamedTuple):
    lanes: int = 64
    updates: int = 200  # each of an epoch in every lane
    passes: int = 4  # over the same experience
    minibatches: int = 4  # of exposures
    hidden: int = 32
    recall: float = 1.0  # 0: nothing comes back
    learning_rate: float = 3e-3
    discount: float = 0.9
    gae_lambda: float = 0.9
    clip: float = 0.2
    value_cost: float = 0.5
    entropy_cost: float = 0.02


class Network(eqx.Module):
    cell: EpisodicLSTMCell
    head: eqx.nn.Linear  # logits and, last, the value

    def __init__(self, hidden: int, key: Array) -> None:
        keys = jax.random.split(key)
        self.cell = EpisodicLSTMCell(ENV.obs_shape[0] - WORLD.context_size, hidden, key=keys[0])
        self.head = eqx.nn.Linear(hidden, ENV.num_actions + 1, key=keys[1])

    def __call__(
        self, state: LSTMState, seen: Array, c_ep: Array
    ) -> tuple[LSTMState, Array, Array]:
        """Return the next state, logits and value; the cell does not see the context itself."""
        x = jnp.concatenate([seen[: CONTEXT.start], seen[CONTEXT.stop :]])
        state, _ = self.cell(x, state, c_ep)
        out = self.head(state.h)
        return state, out[:-1], out[-1]


class Exposure(NamedTuple):
    """What learning needs of an exposure; `play` stacks it as (lanes, exposures, …)."""

    c_ep: Array  # (hidden,) what came back as it started
    number: Array  # () how often the context was met before
    seen: Array  # (pulls, observation)
    action: Array  # (pulls,)
    log_prob: Array
    value: Array
    reward: Array


def play(net: Network, config: Config, key: Array) -> Exposure:
    """Play an epoch of one lane, from an empty memory."""
    reset_key, key = jax.random.split(key)
    seen, env_state = ENV.reset(reset_key)
    memory = DICTIONARY.empty(WORLD.context_size, config.hidden)

    def pull(carry: Any, key: Array) -> tuple[Any, Any]:
        env_state, seen, state, c_ep = carry
        action_key, step_key = jax.random.split(key)
        state, logits, value = net(state, seen, c_ep)
        action = jax.random.categorical(action_key, logits)
        after, env_state, reward, *_ = ENV.step(step_key, env_state, action)
        chosen = jax.nn.log_softmax(logits)[action]
        return (env_state, after, state, c_ep), (seen, action, chosen, value, reward)

    def expose(carry: Any, key: Array) -> tuple[Any, Exposure]:
        env_state, seen, memory = carry
        context, number = seen[CONTEXT], env_state.task.exposure
        found, memory = DICTIONARY.read(memory, context)
        c_ep = config.recall * found.value
        begin = env_state, seen, net.cell.initial_state(), c_ep
        (env_state, seen, state, _), steps = jax.lax.scan(
            pull, begin, jax.random.split(key, WORLD.pulls)
        )
        memory = DICTIONARY.write(memory, context, jax.lax.stop_gradient(state.c))
        return (env_state, seen, memory), Exposure(c_ep, number, *steps)

    keys = jax.random.split(key, WORLD.episodes_per_epoch)
    return jax.lax.scan(expose, (env_state, seen, memory), keys)[1]


def replay(net: Network, each: Exposure) -> tuple[Array, Array]:
    """Return the logits and values of an exposure, by the network as it is now."""

    def again(state: LSTMState, seen: Array) -> tuple[LSTMState, tuple[Array, Array]]:
        state, logits, value = net(state, seen, each.c_ep)
        return state, (logits, value)

    return jax.lax.scan(again, net.cell.initial_state(), each.seen)[1]


def estimate_advantages(config: Config, reward: Array, value: Array) -> Array:
    """A_t = δ_t + γλ A_{t+1}, with δ_t = r_t + γ V_{t+1} − V_t; nothing follows the last step."""
    delta = reward + config.discount * jnp.append(value[1:], 0.0) - value
    decay = config.discount * config.gae_lambda
    return jax.lax.scan(lambda a, d: 2 * (d + decay * a,), 0.0, delta, reverse=True)[1]


def ppo_loss(net: Network, config: Config, batch: Exposure, advantage: Array) -> Array:
    """The clipped objective; arrays are (exposures, pulls)."""
    logits, value = jax.vmap(replay, (None, 0))(net, batch)
    logs = jax.nn.log_softmax(logits)
    chosen = jnp.take_along_axis(logs, batch.action[..., None], axis=-1)[..., 0]
    ratio = jnp.exp(chosen - batch.log_prob)
    scaled = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    clipped = jnp.clip(ratio, 1 - config.clip, 1 + config.clip)
    policy_loss = -jnp.minimum(ratio * scaled, clipped * scaled).mean()
    value_loss = jnp.square(value - (batch.value + advantage)).mean()
    entropy = -(jnp.exp(logs) * logs).sum(axis=-1).mean()
    return policy_loss + config.value_cost * value_loss - config.entropy_cost * entropy


def make_train(config: Config) -> Callable[[Array], tuple[Network, Array]]:
    """Return training as a function of a key, to be compiled, or mapped over keys.

    It returns the network and the learning curve, (updates, exposures): the reward of each.
    """
    optimizer = optax.chain(optax.clip_by_global_norm(0.5), optax.adam(config.learning_rate))

    def learn(carry: tuple[Network, Any], batch: Any) -> tuple[tuple[Network, Any], Array]:
        net, state = carry
        cost, gradient = eqx.filter_value_and_grad(ppo_loss)(net, config, *batch)
        updates, state = optimizer.update(gradient, state)
        return (eqx.apply_updates(net, updates), state), cost

    def update(carry: tuple[Network, Any], key: Array) -> tuple[Any, Array]:
        play_key, learn_key = jax.random.split(key)
        lanes = jax.random.split(play_key, config.lanes)
        played = jax.vmap(play, (None, None, 0))(carry[0], config, lanes)
        rows = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), played)
        advantage = jax.vmap(estimate_advantages, (None, 0, 0))(config, rows.reward, rows.value)

        def one_pass(carry: Any, key: Array) -> tuple[Any, Array]:
            order = jax.random.permutation(key, len(advantage)).reshape(config.minibatches, -1)
            return jax.lax.scan(learn, carry, jax.tree.map(lambda x: x[order], (rows, advantage)))

        carry, _ = jax.lax.scan(one_pass, carry, jax.random.split(learn_key, config.passes))
        met = rows.number[:, None] == jnp.arange(WORLD.max_exposures)[None]
        return carry, rows.reward.sum(axis=1) @ met / met.sum(axis=0)

    def train(key: Array) -> tuple[Network, Array]:
        net_key, key = jax.random.split(key)
        net = Network(config.hidden, net_key)
        carry = net, optimizer.init(eqx.filter(net, eqx.is_array))
        (net, _), curve = jax.lax.scan(update, carry, jax.random.split(key, config.updates))
        return net, curve

    return train


def main() -> None:
    best = bandit_optimum(WORLD)
    for text, share in (("with the memory", 1.0), ("without", 0.0)):
        _, curve = jax.jit(make_train(Config(recall=share)))(jax.random.key(0))
        last = curve[-20:].mean(axis=0)
        print(f"{text}: {', '.join(f'{x:.2f}' for x in last)} in exposures 1 to {len(last)}")
    for name in ("chance", "without_memory", "with_memory"):
        print(f"{name.replace('_', ' ')}: {best[name]:.2f} on average")


if __name__ == "__main__":
    main()
