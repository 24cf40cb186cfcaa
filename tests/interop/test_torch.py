"""The PyTorch cell and memory against the JAX originals."""

import copy
from functools import partial
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

torch = pytest.importorskip("torch")

import reinstate.interop.torch as ours  # noqa: E402
from reinstate import memory  # noqa: E402
from reinstate.cell import EpisodicLSTMCell, LSTMState  # noqa: E402
from reinstate.interop import exchange  # noqa: E402

LANES, STEPS, INPUT, HIDDEN = 3, 5, 4, 6
KEY, VALUE = 4, 2
BINARY = np.array(list(np.ndindex((2,) * KEY)), float)  # whatever is tied here is tied to the bit

torch.set_num_threads(1)  # small tensors, and others may be at work
PRECISION = {np.float32: torch.float32, np.float64: torch.float64}

rng = np.random.default_rng(0)


def make_cell(episodic: bool, dtype: Any = np.float32) -> EpisodicLSTMCell:
    """A JAX cell of random weights, with biases that matter."""
    gates = 5 if episodic else 4
    weight = rng.normal(size=(INPUT + HIDDEN, gates * HIDDEN)).astype(dtype)
    return exchange.make_cell(
        exchange.Weights(weight, rng.normal(size=gates * HIDDEN).astype(dtype), episodic)
    )


def torch_step(cell: Any, x: Any, c: Any, h: Any, c_ep: Any) -> tuple[list[Any], Any]:
    """All that a run of several steps yields, and a number to differentiate."""
    state, seen = ours.LSTMState(c, h), []
    for each in x:
        state, gates = cell(each, state, c_ep)
        seen += [*state, *gates]
    return seen, (state.h * state.c).sum()


def jax_step(cell: Any, x: Any, c: Any, h: Any, c_ep: Any) -> tuple[list[Any], Any]:
    state, seen = LSTMState(c, h), []
    step = jax.vmap(cell, in_axes=(0, 0, None if c_ep is None else 0))
    for each in x:
        state, gates = step(each, state, c_ep)
        seen += [*state, *gates]
    return seen, (state.h * state.c).sum()


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 1e-6), (np.float64, 1e-12)])
@pytest.mark.parametrize(("episodic", "recalls"), [(True, True), (True, False), (False, True)])
def test_the_cell_and_its_gradients_are_those_of_jax(
    dtype: Any, tolerance: float, episodic: bool, recalls: bool
) -> None:
    with jax.enable_x64(dtype == np.float64):
        cell = make_cell(episodic, dtype)
        x = rng.normal(size=(STEPS, LANES, INPUT)).astype(dtype)
        c, h, c_ep = rng.normal(size=(3, LANES, HIDDEN)).astype(dtype)
        inputs = (x, c, h, c_ep if recalls else None)

        @eqx.filter_jit
        def jax_all(arguments: Any) -> tuple[Any, Any]:
            def loss(arguments: Any) -> tuple[Any, Any]:
                seen, number = jax_step(*arguments)
                return number, seen

            return eqx.filter_grad(loss, has_aux=True)(arguments)

        slopes, expected = jax_all((cell, *map(jnp.asarray, inputs[:3]), inputs[3]))
        twin = ours.EpisodicLSTMCell.from_jax(cell)
        tensors = [None if a is None else torch.tensor(a, requires_grad=True) for a in inputs]
        found, number = torch_step(twin, *tensors)
        number.backward()
        for mine, theirs in zip(found, expected, strict=True):
            assert mine.dtype == twin.weight.dtype
            np.testing.assert_allclose(mine.detach(), theirs, rtol=tolerance, atol=tolerance)
        leaves = [slopes[0].weight, slopes[0].bias, *slopes[1:4]]
        variables: list[Any] = [twin.weight, twin.bias, *tensors[:3]]
        for tensor, slope in zip(variables, leaves, strict=True):
            scale = float(np.abs(slope).max())
            np.testing.assert_allclose(tensor.grad, slope, atol=5 * tolerance * scale)


def random_stream(table: np.ndarray) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Writes and reads of several lanes, each under keys of its own."""
    names = rng.choice(["write", "write", "read"], size=40)
    keys = table[rng.integers(len(table), size=(40, LANES))]
    values = rng.normal(size=(40, LANES, VALUE)).astype(table.dtype)
    return list(zip(names, keys, values, strict=True))


# The kernel multiplies the rounding of small distances by 1 / delta.
@pytest.mark.parametrize(
    ("dtype", "delta", "tolerance"), [(np.float32, 1.0, 1e-6), (np.float64, 1e-3, 1e-12)]
)
@pytest.mark.parametrize("distance", ["cosine", "euclidean"])
@pytest.mark.parametrize(("capacity", "k"), [(5, 1), (7, 5)])
def test_any_sequence_of_writes_and_reads_is_that_of_jax(
    distance: Any, capacity: int, k: int, dtype: Any, delta: float, tolerance: float
) -> None:
    original, twin = (module.DND(capacity, k, distance, delta) for module in (memory, ours))
    write, read = jax.jit(jax.vmap(original.write)), jax.jit(jax.vmap(original.read))
    with jax.enable_x64(dtype == np.float64):
        start = jax.tree.map(lambda x: jnp.stack([x] * LANES), original.empty(KEY, VALUE, dtype))
        for table in (BINARY, rng.normal(size=(12, KEY))):
            theirs, mine = (
                start,
                twin.empty(KEY, VALUE, LANES, dtype=torch.tensor(start.keys).dtype),
            )
            for name, key, value in random_stream(table.astype(dtype)):
                if name == "write":
                    theirs = write(theirs, key, value)
                    mine = twin.write(mine, torch.tensor(key), torch.tensor(value))
                else:
                    expected, theirs = read(theirs, key)
                    found, mine = twin.read(mine, torch.tensor(key))
                    assert_same(found, expected, tolerance)
                assert_same(mine, theirs, 0.0)
            assert theirs.writes[0] > 2 * capacity  # it overflowed
            assert twin.filled(mine).tolist() == [capacity] * LANES


@pytest.mark.parametrize("recall", ["nearest", "newest"])
@pytest.mark.parametrize("merge", ["none", "replace", "mean"])
@pytest.mark.parametrize("distance", ["cosine", "euclidean"])
def test_consolidation_is_that_of_jax(distance: Any, merge: Any, recall: Any) -> None:
    """Noisy keys of four contexts, and reaches within which some of them lie and some do not."""
    table = np.repeat(rng.normal(size=(4, KEY)), 6, axis=0)
    table += 0.12 * rng.normal(size=table.shape)
    settings = 7, 3, distance, 1.0, merge, 0.05 if distance == "cosine" else 0.2, recall
    original, twin = (module.Consolidating(*settings) for module in (memory, ours))
    write, read = jax.jit(jax.vmap(original.write)), jax.jit(jax.vmap(original.read))
    with jax.enable_x64(True):
        start = original.empty(KEY, VALUE, np.float64)
        theirs = jax.tree.map(lambda x: jnp.stack([x] * LANES), start)
        mine = twin.empty(KEY, VALUE, LANES, dtype=torch.float64)
        for name, key, value in random_stream(table):
            if name == "write":
                theirs = write(theirs, key, value)
                mine = twin.write(mine, torch.tensor(key), torch.tensor(value))
            else:
                expected, theirs = read(theirs, key)
                found, mine = twin.read(mine, torch.tensor(key))
                assert_same(found, expected, 1e-12)
            assert_same(mine, theirs, 1e-12)
    few = twin.filled(mine) < 7
    assert few.any() == (merge != "none")


def assert_same(mine: Any, theirs: Any, tolerance: float) -> None:
    """All that both sides have under the same names, up to rounding."""
    for name in mine._fields:
        found, expected = getattr(mine, name), getattr(theirs, name)
        np.testing.assert_allclose(found, expected, tolerance, tolerance, err_msg=name)


@pytest.mark.parametrize("distance", ["cosine", "euclidean"])
def test_gradients_of_a_memory_are_those_of_jax(distance: Any) -> None:
    original, twin = (module.DND(5, 3, distance, 0.1) for module in (memory, ours))
    keys, values, query = rng.normal(size=(5, KEY)), rng.normal(size=(5, VALUE)), np.zeros(KEY)
    keys[1] = 0  # no direction: finite all the same
    for query in (rng.normal(size=KEY), keys[0], np.zeros(KEY)):
        arguments = [x.astype(np.float32) for x in (keys, values, query)]

        def recall(dnd: Any, contents: Any, keys: Any, values: Any, query: Any) -> Any:
            for key, value in zip(keys, values, strict=True):
                contents = dnd.write(contents, key, value)
            return (dnd.read(contents, query)[0].value ** 2).sum()

        slow = jax.jit(jax.grad(partial(recall, original, original.empty(KEY, VALUE)), (0, 1, 2)))
        tensors = [torch.tensor(x, requires_grad=True) for x in arguments]
        recall(twin, twin.empty(KEY, VALUE), *tensors).backward()
        for tensor, slope in zip(tensors, slow(*map(jnp.asarray, arguments)), strict=True):
            np.testing.assert_allclose(tensor.grad, slope, rtol=1e-4, atol=1e-5)


def test_only_lanes_that_are_named_write() -> None:
    dnd = ours.DND(capacity=2)
    before = dnd.empty(KEY, VALUE, 2)
    keys, values = torch.eye(2, KEY), torch.ones(2, VALUE)
    after = dnd.write(before, keys, values, where=torch.tensor([True, False]))
    everywhere = dnd.write(before, keys, values)
    for old, new, whole in zip(before, after, everywhere, strict=True):
        assert torch.equal(new[0], whole[0]) and torch.equal(new[1], old[1])
    assert dnd.filled(after).tolist() == [1, 0]


def test_short_floats_stay_short_and_are_compared_in_full() -> None:
    cell = ours.EpisodicLSTMCell(INPUT, HIDDEN, dtype=torch.bfloat16)
    dnd = ours.DND(capacity=3, k=2)
    contents = dnd.empty(KEY, HIDDEN, LANES, dtype=torch.bfloat16)
    state, gates = cell(torch.ones(LANES, INPUT), None, torch.ones(LANES, HIDDEN))
    contents = dnd.write(contents, torch.ones(LANES, KEY), state.c)
    found, _ = dnd.read(contents, torch.ones(LANES, KEY))
    assert {x.dtype for x in (*state, *gates, found.value, contents.values)} == {torch.bfloat16}
    assert found.distances.dtype == torch.float32
    assert cell.to_jax().weight.dtype == jnp.bfloat16
    assert torch.equal(ours.EpisodicLSTMCell.from_jax(cell.to_jax()).weight, cell.weight)


def test_a_memory_is_a_module() -> None:
    """It reads and writes as its dictionary does; what it holds is saved, copied, and forgotten."""
    dictionary = ours.DND(capacity=3, k=2)
    made, contents = ours.EpisodicMemory(dictionary, KEY, VALUE, LANES), None
    contents = dictionary.empty(KEY, VALUE, LANES)
    keys, values = torch.randn(4, LANES, KEY), torch.randn(4, LANES, VALUE, requires_grad=True)
    where = torch.tensor([True, False, True])
    for key, value in zip(keys, values, strict=True):
        made.write(key, value, where)
        contents = dictionary.write(contents, key, value.detach(), where)
    query = torch.randn(LANES, KEY, requires_grad=True)
    found, (expected, contents) = made(query), dictionary.read(contents, query)
    torch.testing.assert_close(tuple(made.contents), tuple(contents))
    torch.testing.assert_close(found.value, expected.value)
    found.value.sum().backward()
    assert query.grad.abs().max() > 0 and values.grad is None
    again = ours.EpisodicMemory(dictionary, KEY, VALUE, LANES)
    again.load_state_dict(copy.deepcopy(made).state_dict())
    torch.testing.assert_close(again(query).value, made(query).value)
    made.reset(torch.tensor([True, False, False]))
    assert dictionary.filled(made.contents).tolist() == [0, 0, 3]
    made.reset()
    torch.testing.assert_close(tuple(made.contents), tuple(dictionary.empty(KEY, VALUE, LANES)))


@pytest.mark.parametrize("recalls", ["never", "the same", "each its own"])
def test_a_sequence_is_its_steps(recalls: str) -> None:
    cell = ours.EpisodicLSTMCell.from_jax(make_cell(True))
    x, many = torch.randn(STEPS, LANES, INPUT), torch.randn(STEPS, LANES, HIDDEN)
    c_ep = {"never": None, "the same": many[0], "each its own": many}[recalls]
    h, last, gates = cell.unroll(x, None, c_ep)
    state: Any = None
    for time in range(STEPS):
        state, opened = cell(x[time], state, many[time] if c_ep is many else c_ep)
        torch.testing.assert_close(h[time], state.h)
        torch.testing.assert_close(gates.r[time], opened.r)
    torch.testing.assert_close(tuple(last), tuple(state))


def test_everything_stays_on_its_device() -> None:
    """On a device without data, which refuses tensors of another."""
    cell, dnd = ours.EpisodicLSTMCell(INPUT, HIDDEN, device="meta"), ours.DND(capacity=3, k=2)
    contents = dnd.empty(KEY, HIDDEN, LANES, device="meta")
    key = torch.ones(LANES, KEY, device="meta")
    found, contents = dnd.read(contents, key)
    state, gates = cell(torch.ones(LANES, INPUT, device="meta"), None, found.value)
    contents = dnd.write(contents, key, state.c)
    assert {x.device.type for x in (*state, *gates, *found, *contents)} == {"meta"}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("episodic", [True, False])
def test_files_are_read_on_both_sides(tmp_path: Path, episodic: bool, dtype: Any) -> None:
    cell = ours.EpisodicLSTMCell(INPUT, HIDDEN, episodic=episodic, dtype=dtype)
    ours.save_cell(tmp_path / "a", cell)
    exchange.save_cell(tmp_path / "b", exchange.load_cell(tmp_path / "a"))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    again = ours.load_cell(tmp_path / "b")
    assert again.episodic == episodic and again.weight.dtype == dtype
    assert torch.equal(again.weight, cell.weight) and torch.equal(again.bias, cell.bias)


def test_a_step_is_one_graph_for_the_compiler() -> None:
    cell, dnd = ours.EpisodicLSTMCell(KEY, HIDDEN), ours.DND(capacity=3)

    def step(x: Any, contents: Any) -> Any:
        found, contents = dnd.read(contents, x)
        state, _ = cell(x, None, found.value)
        return state.h, dnd.write(contents, x, state.c)

    x, contents = torch.randn(LANES, KEY), dnd.empty(KEY, HIDDEN, LANES)
    fast = torch.compile(step, backend="eager", fullgraph=True)
    torch.testing.assert_close(fast(x, contents), step(x, contents))


@pytest.mark.filterwarnings("ignore:.*torch.jit.script. is")
def test_torchscript_is_refused_with_what_to_use() -> None:
    within = torch.nn.Sequential(ours.EpisodicLSTMCell(INPUT, HIDDEN))
    with pytest.raises(NotImplementedError, match=r"EpisodicLSTMCell: use torch\.compile, or"):
        torch.jit.script(within)
    program = torch.export.export(ours.EpisodicLSTMCell(INPUT, HIDDEN), (torch.ones(2, INPUT),))
    assert "linear" in str(program.graph)
