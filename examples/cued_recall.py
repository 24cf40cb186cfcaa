"""Cued recall: sequences are shown once, each with a cue, and later recalled from the cue alone.

In an epoch eight cues, random vectors, are studied; then they come back in another order, blurred
by noise. An epLSTM stores its cell state at the end of an episode under the cue on show. Each epoch
draws everything again, so that nothing can be learned by heart.

memory:       reset with every episode, so that only the memory reaches from study to recall
no memory:    the same network if nothing comes back; all it can do is guess
never reset:  no memory either, but a state that lasts: it has to hold all sequences at once
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax import Array

from reinstate import DND, EpisodicLSTMCell, Retrieval
from reinstate.cell import Gates, LSTMState

CUES, CUE_SIZE, LENGTH, SYMBOLS, NOISE, HIDDEN, LANES = 8, 16, 3, 4, 0.3, 32, 16
DICTIONARY, OPTIMIZER = DND(capacity=2 * CUES, k=3), optax.adam(2e-2)
CONDITIONS = {"memory": (1.0, 0.0), "no memory": (0.0, 0.0), "never reset": (0.0, 1.0)}


class Epoch(NamedTuple):  # CUES episodes of study, then CUES of recall
    cues: Array  # (episodes, CUE_SIZE)
    inputs: Array  # (episodes, LENGTH, SYMBOLS + 1) one-hot: a symbol, or that one is queried
    targets: Array  # (CUES, LENGTH) symbols to be named at recall
    order: Array  # (CUES,) the episode of study that each episode of recall queries


def draw_epoch(key: Array) -> Epoch:
    keys = jax.random.split(key, 4)
    cues = jax.random.normal(keys[0], (CUES, CUE_SIZE))
    symbols = jax.random.randint(keys[1], (CUES, LENGTH), 0, SYMBOLS)
    order = jax.random.permutation(keys[2], CUES)
    blurred = cues[order] + NOISE * jax.random.normal(keys[3], cues.shape)
    inputs = jax.nn.one_hot(jnp.concatenate([symbols, 0 * symbols + SYMBOLS]), SYMBOLS + 1)
    return Epoch(jnp.concatenate([cues, blurred]), inputs, symbols[order], order)


class Network(eqx.Module):
    cell: EpisodicLSTMCell
    head: eqx.nn.Linear

    def __init__(self, key: Array) -> None:
        self.cell = EpisodicLSTMCell(SYMBOLS + 1 + CUE_SIZE, HIDDEN, key=key)
        self.head = eqx.nn.Linear(HIDDEN, SYMBOLS, key=jax.random.fold_in(key, 1))


def play(net: Network, epoch: Epoch, recall: Any, keep: Any) -> tuple[Array, Gates, Retrieval]:
    """Return logits and gates, (episodes, LENGTH, …), and what was found, (episodes, …)."""

    def episode(carried: Any, shown: tuple[Array, Array]) -> tuple[Any, Any]:
        (memory, state), (cue, inputs) = carried, shown
        found, memory = DICTIONARY.read(memory, cue)

        def step(state: Any, x: Array) -> tuple[Any, Any]:
            state, gates = net.cell(jnp.concatenate([x, cue]), state, recall * found.value)
            return state, (net.head(state.h), gates)

        state, seen = jax.lax.scan(step, LSTMState(keep * state.c, keep * state.h), inputs)
        # Gradients pass through what is stored: study learns to leave what recall can use.
        return (DICTIONARY.write(memory, cue, state.c), state), (*seen, found)

    start = DICTIONARY.empty(CUE_SIZE, HIDDEN), net.cell.initial_state()
    return jax.lax.scan(episode, start, (epoch.cues, epoch.inputs))[1]


def judge(net: Network, key: Array, recall: Any, keep: Any) -> tuple[Array, Array]:
    """Return the loss and the share of symbols recalled, means over lanes."""
    epochs = jax.vmap(draw_epoch)(jax.random.split(key, LANES))
    logits = jax.vmap(lambda epoch: play(net, epoch, recall, keep)[0])(epochs)[:, CUES:]
    loss = optax.softmax_cross_entropy_with_integer_labels(logits, epochs.targets)
    return loss.mean(), (logits.argmax(-1) == epochs.targets).mean()


@eqx.filter_jit
def update(net: Network, opt_state: Any, *data: Any) -> tuple[Network, Any, Array]:
    (_, right), slopes = eqx.filter_value_and_grad(judge, has_aux=True)(net, *data)
    changes, opt_state = OPTIMIZER.update(slopes, opt_state)
    return eqx.apply_updates(net, changes), opt_state, right


def look_inside(net: Network) -> None:
    """Print, of one epoch, how far the r-gate was open and what the memory found."""
    epoch = draw_epoch(jax.random.key(0))
    logits, (*_, r), found = eqx.filter_jit(play)(net, epoch, 1.0, 0.0)
    print(f"r-gate: {r[:CUES].mean():.2f} open at study, {r[CUES:].mean():.2f} at recall")
    print("queried    came back  distance  weights of three  symbols    recalled")
    for asked, row in zip(epoch.order.tolist(), range(CUES, 2 * CUES), strict=True):
        came_back, distance = int(found.written[row, 0]) - 1, found.distances[row, 0]
        weights = "  ".join(f"{weight:.2f}" for weight in found.weights[row])
        symbols, named = epoch.targets[row - CUES].tolist(), logits[row].argmax(-1).tolist()
        print(f"{asked:9}  {came_back:9}  {distance:8.3f}  {weights:>16}  {symbols}  {named}")


def main(steps: int = 200, conditions: tuple[str, ...] = tuple(CONDITIONS)) -> dict[str, float]:
    """Train under each condition; return the shares of symbols recalled, of which 1/4 is chance."""
    recalled = {}
    for name in conditions:
        net, right = Network(jax.random.key(0)), 0.0
        opt_state = OPTIMIZER.init(eqx.filter(net, eqx.is_array))
        recall, keep = map(jnp.asarray, CONDITIONS[name])  # arrays, so that one program serves all
        for step in range(1, steps + 1):
            net, opt_state, now = update(net, opt_state, jax.random.key(step), recall, keep)
            right += (float(now) - right) / min(step, 20)  # over the last steps
            if step % 50 == 0:
                print(f"{name}: {right:.0%} recalled after {step} steps")
        recalled[name] = right
        if name == "memory":
            look_inside(net)
    return recalled


if __name__ == "__main__":
    main()
