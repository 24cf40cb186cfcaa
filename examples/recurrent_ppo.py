"""Recurrent PPO on barcode bandits, in one file: `make_train(env, config)` returns `train(key)`.

Nothing of the agents and learners of this package is used: the bandits are an environment in the
convention of gymnax, and a GRU plays whole epochs of them, its state carried from exposure to
exposure. All of training is one compiled function, which takes about half a minute on two cores.

    python examples/recurrent_ppo.py

It learns to find the good arm of a context as fast as one can who remembers no earlier exposure.
That contexts come back is of no use to it: in this time it does not learn to keep them in mind.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax import Array

from reinstate.interop.functional import Environment, EnvState
from reinstate.tasks.bandits import BarcodeBandits

WORLD = BarcodeBandits(num_arms=3, pulls=4, num_contexts=3, repeats=5, barcode_length=3)


@dataclass(frozen=True)
class Config:
    lanes: int = 64
    steps: int = 60  # of each lane, per update
    updates: int = 400
    passes: int = 4  # over the same experience
    minibatches: int = 4  # of lanes: sequences stay whole
    hidden: int = 64
    learning_rate: float = 3e-3
    max_grad_norm: float = 0.5
    discount: float = 0.95
    gae_lambda: float = 0.9
    clip: float = 0.2
    value_cost: float = 0.5
    entropy_cost: float = 0.02


class Network(eqx.Module):
    """One step of one lane."""

    cell: eqx.nn.GRUCell
    actor: eqx.nn.Linear
    critic: eqx.nn.Linear

    def __init__(self, inputs: int, hidden: int, actions: int, key: Array) -> None:
        keys = jax.random.split(key, 3)
        self.cell = eqx.nn.GRUCell(inputs, hidden, key=keys[0])
        self.actor = eqx.nn.Linear(hidden, actions, key=keys[1])
        self.critic = eqx.nn.Linear(hidden, 1, key=keys[2])

    def __call__(self, hidden: Array, seen: Array, starts: Array) -> tuple[Array, Array, Array]:
        """Return the next state, logits and value; the state is reset where an episode starts."""
        hidden = self.cell(seen, jnp.where(starts, 0.0, hidden))
        return hidden, self.actor(hidden), self.critic(hidden)[0]


class Step(NamedTuple):
    """What learning needs of a step; scans stack it as (steps, lanes, …)."""

    seen: Array
    starts: Array  # whether an episode of the environment starts here
    action: Array
    log_prob: Array
    value: Array
    reward: Array
    done: Array
    exposure: Array  # how often the context was met before, for the learning curve


class Runner(NamedTuple):
    """What lasts from step to step, (lanes, …)."""

    env_state: EnvState
    seen: Array
    starts: Array
    hidden: Array


def make_train(env: Environment, config: Config) -> Callable[[Array], tuple[Network, Any]]:
    """Return training as a function of a key, to be compiled, or mapped over keys."""
    optimizer = optax.chain(
        optax.clip_by_global_norm(config.max_grad_norm),
        optax.adam(optax.linear_schedule(config.learning_rate, 0.0, num_gradients(config))),
    )

    def start(key: Array) -> Runner:
        seen, state = jax.vmap(env.reset)(jax.random.split(key, config.lanes))
        hidden = jnp.zeros((config.lanes, config.hidden))
        return Runner(state, seen, jnp.ones(config.lanes, bool), hidden)

    def act(net: Network, runner: Runner, key: Array) -> tuple[Runner, Step]:
        action_key, step_key = jax.random.split(key)
        hidden, logits, value = jax.vmap(net)(runner.hidden, runner.seen, runner.starts)
        action = jax.random.categorical(action_key, logits)
        exposure = env.info(runner.env_state)["exposure"]
        keys = jax.random.split(step_key, config.lanes)
        seen, state, reward, terminated, truncated, _ = jax.vmap(env.step)(
            keys, runner.env_state, action
        )
        done = terminated | truncated
        log_prob = log_prob_of(logits, action)
        step = Step(runner.seen, runner.starts, action, log_prob, value, reward, done, exposure)
        return Runner(state, seen, done, hidden), step

    def learn(carry: tuple[Network, Any], batch: Any) -> tuple[tuple[Network, Any], Array]:
        net, state = carry
        cost, gradient = eqx.filter_value_and_grad(ppo_loss)(net, config, *batch)
        updates, state = optimizer.update(gradient, state)
        return (eqx.apply_updates(net, updates), state), cost

    def update(carry: tuple[Network, Any, Runner], key: Array) -> tuple[Any, dict[str, Array]]:
        net, state, runner = carry
        act_key, learn_key = jax.random.split(key)
        hidden = runner.hidden
        runner, steps = jax.lax.scan(
            lambda runner, key: act(net, runner, key),
            runner,
            jax.random.split(act_key, config.steps),
        )
        _, _, last_value = jax.vmap(net)(runner.hidden, runner.seen, runner.starts)
        advantage = estimate_advantages(config, steps, last_value)

        def one_pass(carry: Any, key: Array) -> tuple[Any, Array]:
            lanes = jax.random.permutation(key, config.lanes).reshape(config.minibatches, -1)
            batches = (
                hidden[lanes],
                *jax.tree.map(lambda x: jnp.moveaxis(x[:, lanes], 1, 0), (steps, advantage)),
            )
            return jax.lax.scan(learn, carry, batches)

        (net, state), cost = jax.lax.scan(
            one_pass, (net, state), jax.random.split(learn_key, config.passes)
        )
        return (net, state, runner), summary(env, steps) | {"loss": cost.mean()}

    def train(key: Array) -> tuple[Network, dict[str, Array]]:
        net_key, start_key, key = jax.random.split(key, 3)
        net = Network(env.obs_shape[0], config.hidden, env.num_actions, net_key)
        carry = net, optimizer.init(eqx.filter(net, eqx.is_array)), start(start_key)
        (net, _, _), curve = jax.lax.scan(update, carry, jax.random.split(key, config.updates))
        return net, curve

    return train


def num_gradients(config: Config) -> int:
    return config.updates * config.passes * config.minibatches


def log_prob_of(logits: Array, action: Array) -> Array:
    chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), action[..., None], axis=-1)
    return chosen[..., 0]


def estimate_advantages(config: Config, steps: Step, last_value: Array) -> Array:
    """A_t = δ_t + γλ A_{t+1}, with δ_t = r_t + γ V_{t+1} − V_t; nothing counts beyond an end."""

    def back(carry: tuple[Array, Array], step: Step) -> tuple[tuple[Array, Array], Array]:
        advantage, next_value = carry
        alive = 1.0 - step.done
        delta = step.reward + config.discount * alive * next_value - step.value
        advantage = delta + config.discount * config.gae_lambda * alive * advantage
        return (advantage, step.value), advantage

    _, advantage = jax.lax.scan(back, (0 * last_value, last_value), steps, reverse=True)
    return advantage


def ppo_loss(net: Network, config: Config, hidden: Array, steps: Step, advantage: Array) -> Array:
    """The clipped objective, on the policy as it is now; arrays are (steps, lanes, …)."""

    def replay(hidden: Array, step: Step) -> tuple[Array, tuple[Array, Array]]:
        hidden, logits, value = jax.vmap(net)(hidden, step.seen, step.starts)
        return hidden, (logits, value)

    _, (logits, value) = jax.lax.scan(replay, hidden, steps)
    ratio = jnp.exp(log_prob_of(logits, steps.action) - steps.log_prob)
    scaled = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    clipped = jnp.clip(ratio, 1 - config.clip, 1 + config.clip)
    policy_loss = -jnp.minimum(ratio * scaled, clipped * scaled).mean()
    value_loss = jnp.square(value - (steps.value + advantage)).mean()
    entropy = -(jax.nn.softmax(logits) * jax.nn.log_softmax(logits)).sum(axis=-1).mean()
    return policy_loss + config.value_cost * value_loss - config.entropy_cost * entropy


def summary(env: Environment, steps: Step) -> dict[str, Array]:
    """Return reward per exposure: of all, and by how often the context was met before."""
    met = jnp.arange(env.world.max_exposures)[:, None, None] == steps.exposure[None]
    by_exposure = jnp.where(met, steps.reward[None], 0.0).sum((1, 2)) / met.sum((1, 2))
    length = env.world.episode_length
    return {"reward": length * steps.reward.mean(), "by_exposure": length * by_exposure}


def main() -> None:
    from reinstate_paper.barcode_bandits import BARCODE_BANDITS

    assert BARCODE_BANDITS.optimum is not None
    best = BARCODE_BANDITS.optimum(WORLD)
    env = Environment(WORLD, last_step=True)
    _, curve = jax.jit(make_train(env, Config()))(jax.random.key(0))
    last = {name: values[-20:].mean(axis=0) for name, values in curve.items()}
    print(f"reward per exposure: {last['reward']:.2f}")
    print(f"first to last exposure: {', '.join(f'{x:.2f}' for x in last['by_exposure'])}")
    for name in ("chance", "without_memory", "with_memory"):
        print(f"{name.replace('_', ' ')}: {best[name]:.2f}")


if __name__ == "__main__":
    main()
