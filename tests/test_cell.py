import math
import subprocess
import sys
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from reference import lstm
from reinstate.cell import EpisodicLSTMCell, Gates, LSTMState

ORDER = ["i", "f", "o", "c_in", "r"]  # blocks of columns in the cell's weight


def make_cell(input_size: int = 3, hidden_size: int = 4, episodic: bool = True) -> EpisodicLSTMCell:
    """A cell with random weights from NumPy, which compiles nothing, and biases that matter."""
    build = partial(EpisodicLSTMCell, input_size, hidden_size, episodic=episodic)
    cell: EpisodicLSTMCell = eqx.filter_eval_shape(lambda key: build(key=key), jax.random.key(0))
    rng = np.random.default_rng(0)
    return jax.tree.map(lambda x: jnp.array(rng.normal(size=x.shape), x.dtype), cell)


@eqx.filter_jit
def step(
    cell: EpisodicLSTMCell, x: Array, state: LSTMState, c_ep: Array | None = None
) -> tuple[LSTMState, Gates]:
    return cell(x, state, c_ep)


def gate_weights(cell: EpisodicLSTMCell) -> dict[str, lstm.GateWeights]:
    hidden = cell.hidden_size
    weight, bias = np.asarray(cell.weight, float), np.asarray(cell.bias, float)
    gates = {}
    for block, name in enumerate(ORDER if cell.episodic else ORDER[:4]):
        columns = slice(block * hidden, (block + 1) * hidden)
        x, h = weight[:-hidden, columns].T, weight[-hidden:, columns].T
        gates[name] = lstm.GateWeights(x, h, bias[columns])
    return gates


def random_inputs(cell: EpisodicLSTMCell, seed: int) -> tuple[np.ndarray, ...]:
    """x, c, h, c_ep."""
    hidden = cell.hidden_size
    sizes = (cell.weight.shape[0] - hidden, hidden, hidden, hidden)
    rng = np.random.default_rng(seed)
    return tuple(rng.normal(size=size).astype(np.float32) for size in sizes)


def test_one_unit_by_hand() -> None:
    ln2, ln3, atanh_half = math.log(2), math.log(3), math.atanh(0.5)
    #              i    f    o    c_in         r
    w_x = np.array([ln3, 0.0, 1.0, atanh_half, ln2])
    w_h = np.array([ln3, ln3, 2.0, 0.0, ln2])
    bias = np.array([0.0, 0.0, 0.0, -atanh_half, ln2])
    cell = make_cell(1, 1)
    cell = eqx.tree_at(lambda c: (c.weight, c.bias), cell, (jnp.array([w_x, w_h]), jnp.array(bias)))
    state = LSTMState(c=jnp.array([2.0]), h=jnp.array([-1.0]))
    # With x = 2 and h = −1 the gates see ln 3, −ln 3, 0 and ln 4, and c_in = tanh(atanh ½).
    (c, h), gates = step(cell, jnp.array([2.0]), state, jnp.array([-1.0]))
    np.testing.assert_allclose([g[0] for g in gates], [0.75, 0.25, 0.5, 0.8], rtol=1e-6)
    # c = ¾·½ + ¼·2 − ⅘·1 = 0.075;  h = ½ tanh 0.075 = ½ (0.075 − 0.075³/3 + …)
    np.testing.assert_allclose(c, [0.075], rtol=1e-5)
    np.testing.assert_allclose(h, [0.0374298], rtol=1e-5)


@pytest.mark.parametrize("episodic", [True, False])
def test_a_step_is_that_of_the_twin(episodic: bool) -> None:
    cell = make_cell(episodic=episodic)
    for seed in range(3):
        x, c, h, c_ep = random_inputs(cell, seed)
        new_c, new_h, new_gates = lstm.step(gate_weights(cell), x, c, h, c_ep if episodic else None)
        state, gates = step(
            cell, jnp.array(x), LSTMState(jnp.array(c), jnp.array(h)), jnp.array(c_ep)
        )
        np.testing.assert_allclose(state.c, new_c, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(state.h, new_h, rtol=1e-5, atol=1e-6)
        for name, gate in gates._asdict().items():
            np.testing.assert_allclose(gate, new_gates[name], rtol=1e-5, atol=1e-6)


def test_the_plain_lstm_ignores_memories_and_has_no_r_gate() -> None:
    cell = make_cell(episodic=False)
    x, c, h, c_ep = map(jnp.array, random_inputs(cell, 0))
    alone, gates = step(cell, x, LSTMState(c, h))
    offered, _ = step(cell, x, LSTMState(c, h), c_ep)
    np.testing.assert_array_equal(alone, offered)
    assert gates.r.tolist() == [0, 0, 0, 0]
    assert cell.weight.shape == (3 + 4, 4 * 4)
    assert make_cell(episodic=True).weight.shape == (3 + 4, 5 * 4)


def test_a_memory_enters_raw_through_the_r_gate() -> None:
    # A tanh on the way in, as in other implementations, would flatten large memories.
    cell = make_cell()
    x, c, h, _ = map(jnp.array, random_inputs(cell, 0))
    without, gates = step(cell, x, LSTMState(c, h))
    assert np.all((gates.r > 0) & (gates.r < 1))
    for size in (1.0, 100.0, -10_000.0):
        reinstated, _ = step(cell, x, LSTMState(c, h), jnp.full(4, size))
        np.testing.assert_allclose(reinstated.c - without.c, gates.r * size, rtol=1e-3)


def test_only_the_forget_gate_starts_with_a_bias() -> None:
    cell = EpisodicLSTMCell(3, 2, forget_bias=1.5, key=jax.random.key(0))
    assert cell.bias.tolist() == [0, 0, 1.5, 1.5, 0, 0, 0, 0, 0, 0]
    assert jnp.abs(cell.weight).max() <= 2**-0.5
    assert all(s.tolist() == [0, 0] for s in cell.initial_state())


def test_cell_and_memory_bring_nothing_of_the_agents_along() -> None:
    code = "import sys, reinstate.cell, reinstate.memory; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    ours = {f"reinstate.{room}" for room in ("agent", "rollout", "learner", "tasks", "runs", "cli")}
    theirs = {"optax", "tyro", "rich", "safetensors", "matplotlib", "scipy.stats"}
    assert "reinstate.memory" in loaded
    assert not loaded & (ours | theirs)


def test_the_cell_computes_in_the_dtype_of_its_weights() -> None:
    cell = jax.tree.map(lambda w: w.astype(jnp.bfloat16), make_cell())
    state, gates = step(cell, jnp.ones(3), cell.initial_state(), jnp.ones(4))  # float32 inputs
    assert {leaf.dtype for leaf in (*state, *gates)} == {jnp.dtype(jnp.bfloat16)}
    jax.lax.scan(lambda s, x: cell(x, s), cell.initial_state(), jnp.ones((5, 3)))  # keeps its type


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        (((2, 3), 4, 4), r"x has shape \(2, 3\), expected \(3,\), the cell's input_size.*jax.vmap"),
        (((5,), 4, 4), r"x has shape \(5,\), expected \(3,\), the cell's input_size: give"),
        (((3,), 5, 4), r"state.c has shape \(5,\), expected \(4,\), the cell's hidden_size"),
        (((3,), 4, 5), r"c_ep has shape \(5,\), expected \(4,\)"),
    ],
)
def test_a_wrong_shape_is_told_in_words(sizes: tuple, message: str) -> None:
    shape, hidden, recalled = sizes
    state = LSTMState(jnp.zeros(hidden), jnp.zeros(hidden))
    with pytest.raises(ValueError, match=message):
        make_cell()(jnp.zeros(shape), state, jnp.zeros(recalled))
