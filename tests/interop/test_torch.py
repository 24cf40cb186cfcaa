"""The PyTorch cell, memory and agents against the JAX originals."""

import inspect
import re
import runpy
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

torch = pytest.importorskip("torch")

import reinstate.torch as ours  # noqa: E402
from reinstate import exchange, memory  # noqa: E402
from reinstate.agent import Network, make_agent  # noqa: E402
from reinstate.cell import EpisodicLSTMCell, LSTMState  # noqa: E402
from reinstate.errors import UserError  # noqa: E402
from reinstate.runs.notebook import load  # noqa: E402
from reinstate.tasks.bandits import BarcodeBandits  # noqa: E402
from tiny import trained_run  # noqa: E402

ROOT = Path(__file__).parents[2]
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
        for tensor, slope in zip([twin.weight, twin.bias, *tensors[:3]], leaves, strict=True):
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


def test_everything_stays_on_its_device() -> None:
    """On a device without data, which refuses tensors of another."""
    cell, dnd = ours.EpisodicLSTMCell(INPUT, HIDDEN, device="meta"), ours.DND(capacity=3, k=2)
    contents = dnd.empty(KEY, HIDDEN, LANES, device="meta")
    key = torch.ones(LANES, KEY, device="meta")
    found, contents = dnd.read(contents, key)
    state, gates = cell(torch.ones(LANES, INPUT, device="meta"), None, found.value)
    contents = dnd.write(contents, key, state.c)
    lstm = cell.to_lstm_cell()
    assert {x.device.type for x in (*state, *gates, *found, *contents, lstm.bias_ih)} == {"meta"}


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("episodic", [True, False])
def test_pytorchs_own_cell_becomes_ours_and_back(episodic: bool, bias: bool) -> None:
    lstm = torch.nn.LSTMCell(INPUT, HIDDEN, bias=bias)
    cell = ours.EpisodicLSTMCell.from_lstm_cell(lstm, episodic=episodic)
    x, c, h = torch.randn(LANES, INPUT), torch.randn(LANES, HIDDEN), torch.randn(LANES, HIDDEN)
    for theirs in (lstm, cell.to_lstm_cell()):
        next_h, next_c = theirs(x, (h, c))
        state, _ = cell(x, ours.LSTMState(c, h))
        torch.testing.assert_close(state.c, next_c)
        torch.testing.assert_close(state.h, next_h)
    if episodic:
        assert cell.weight[:, 4 * HIDDEN :].abs().max() > 0  # an r-gate to be trained


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


def test_a_file_that_holds_no_cell_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="name a file that save_cell wrote"):
        ours.load_cell(tmp_path / "none")


ROUTES = ["l2rl-context", "epl2rl", "epl2rl-input-2"]


@pytest.mark.parametrize(
    "network",
    [
        Network(hidden_size=HIDDEN),
        Network(
            HIDDEN, learned_start=True, feedback="joint", reinstated="first-step", stored="rms"
        ),
    ],
    ids=["paper", "variant"],
)
@pytest.mark.parametrize("name", ROUTES)
def test_agents_play_as_in_jax(name: str, network: Network) -> None:
    world = BarcodeBandits(num_arms=3, barcode_length=4)
    agent = make_agent(name, world, network, key=jax.random.key(1))
    agent = jax.tree.map(lambda x: jnp.array(rng.normal(size=x.shape), x.dtype), agent)
    twin, lanes = ours.Agent(agent), (LANES,)
    state, twin_state = agent.initial_state(), twin.initial_state(LANES)
    state = jax.tree.map(lambda x: jnp.stack([x] * LANES), state)
    step = jax.jit(jax.vmap(agent))
    features = np.ones((*lanes, world.observation_size), np.float32)
    for last in (-1, 0, 2):
        action, reward = np.full(lanes, last), rng.normal(size=lanes).astype(np.float32)
        context, c_ep = (rng.normal(size=(*lanes, n)).astype(np.float32) for n in (4, HIDDEN))
        given = features, context, action, reward, c_ep
        state, decision = step(*map(jnp.asarray, given), state)
        twin_state, mine = twin(*map(torch.tensor, given), twin_state)
        assert_near(mine.logits, decision.logits)
        assert_near(mine.value, decision.value)
        assert_near(mine.gates.r, decision.report["r"])
        assert_near(twin.to_store(twin_state), jax.vmap(agent.to_store)(state))


def assert_near(mine: Any, theirs: Any) -> None:
    np.testing.assert_allclose(mine.detach(), theirs, rtol=2e-6, atol=1e-6)


def test_the_agent_of_a_run_plays_as_it_was_trained(tmp_path: Path) -> None:
    run = trained_run(tmp_path / "run")
    agent, dnd = ours.load_agent(run.path, seed=1)
    trained: Any = load(run.path)
    player = trained.player(1)
    np.testing.assert_array_equal(agent.cell.weight.detach(), player.cell.weight)
    np.testing.assert_array_equal(agent.head.weight.detach(), player.head.weight)
    assert dnd == ours.DND(capacity=6)
    with pytest.raises(ValueError, match="none of the run's 2"):
        ours.load_agent(run.path, seed=2)


def test_agents_that_are_not_here_say_where_they_are() -> None:
    world = BarcodeBandits(num_arms=3, barcode_length=4)
    agent = make_agent("epl2rl-recognition", world, Network(HIDDEN), key=jax.random.key(0))
    with pytest.raises(ValueError, match="in JAX alone"):
        ours.Agent(agent)


CELL = ours.EpisodicLSTMCell(INPUT, HIDDEN)
MEMORY = ours.DND(capacity=3)


def cell_step(x: Any, rows: int = LANES, c_ep: Any = None) -> Any:
    return CELL(x, CELL.initial_state(rows), c_ep)


def read(query: Any) -> Any:
    return MEMORY.read(MEMORY.empty(KEY, VALUE, LANES), query)


def write(key: Any, value: Any, where: Any = None) -> Any:
    return MEMORY.write(MEMORY.empty(KEY, VALUE, LANES), key, value, where)


def act(action: Any, features: int = 1) -> Any:
    world = BarcodeBandits(num_arms=3, barcode_length=4)
    agent = ours.Agent(make_agent("epl2rl", world, Network(HIDDEN), key=jax.random.key(0)))
    last = torch.tensor(action), torch.zeros(LANES)
    return agent(torch.zeros(LANES, features), None, *last, None, agent.initial_state(LANES))


zeros = torch.zeros
FAR: dict[str, Any] = {"distance": "far"}
MISTAKES: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: cell_step(zeros(LANES, 5)), ValueError, r"\(3, 5\), expected \(…, 4\).*input_size"),
    (lambda: cell_step(zeros(LANES, INPUT), rows=2), ValueError, r"state.c .*expected \(3, 6\)"),
    (lambda: cell_step(zeros(LANES, INPUT), c_ep=zeros(HIDDEN)), ValueError, "c_ep has shape"),
    (lambda: cell_step(zeros(LANES, INPUT).long()), TypeError, r"int64, expected floats.*\.float"),
    (lambda: cell_step(np.zeros((LANES, INPUT))), TypeError, "torch.as_tensor"),
    (lambda: read(zeros(KEY)), ValueError, r"query has shape \(4,\), expected \(3, 4\)"),
    (lambda: read(zeros(LANES, KEY).int()), TypeError, "query is of torch.int32"),
    (lambda: write(zeros(LANES, KEY), zeros(LANES, KEY)), ValueError, "value has shape"),
    (lambda: write(zeros(LANES, KEY), zeros(LANES, VALUE), zeros(LANES)), TypeError, r"\.bool"),
    (lambda: ours.DND(4).read(MEMORY.empty(KEY, VALUE), zeros(KEY)), ValueError, "3 slots"),
    (lambda: ours.DND(capacity=2, k=3), ValueError, "raise capacity or lower k"),
    (lambda: ours.DND(**FAR), ValueError, "choose cosine or euclidean"),
    (lambda: ours.EpisodicLSTMCell(0, 3), ValueError, "input_size must be positive"),
    (lambda: ours.EpisodicLSTMCell.from_lstm_cell(torch.nn.LSTM(2, 3)), TypeError, "nn.LSTMCell"),
    (lambda: act([0, 1, 3]), ValueError, "last_action is 3: actions are 0 to 2"),
    (lambda: act([0.0, 1.0, 2.0]), TypeError, r"\.long"),
    (lambda: act([0, 1, 2], features=9), ValueError, "what the agent's task shows"),
]


@pytest.mark.parametrize("number", range(len(MISTAKES)))
def test_mistakes_are_told_in_words(number: int) -> None:
    mistake, kind, words = MISTAKES[number]
    with pytest.raises(kind, match=words):
        mistake()


def test_a_step_is_one_graph_for_the_compiler() -> None:
    def step(x: Any, contents: Any) -> Any:
        found, contents = MEMORY.read(contents, x)
        state, _ = compiled_cell(x, None, found.value)
        return state.h, MEMORY.write(contents, x, state.c)

    compiled_cell = ours.EpisodicLSTMCell(KEY, HIDDEN)
    x, contents = torch.randn(LANES, KEY), MEMORY.empty(KEY, HIDDEN, LANES)
    fast = torch.compile(step, backend="eager", fullgraph=True)
    torch.testing.assert_close(fast(x, contents), step(x, contents))


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)


def test_importing_it_loads_no_jax_and_without_pytorch_names_the_fix() -> None:
    done = run_python("import sys, reinstate.torch; print(*sys.modules)")
    assert "torch" in done.stdout.split() and "jax" not in done.stdout.split()
    done = run_python("import sys; sys.modules['torch'] = None; import reinstate.torch")
    assert done.stderr.splitlines()[-1].endswith('pip install "reinstate[torch]"')


def test_cued_recall_in_pytorch() -> None:
    main = runpy.run_path(str(ROOT / "examples" / "cued_recall_torch.py"))["main"]
    right, own = main(130)
    assert right > 0.9 and own > 0.95
    assert abs(main(25, recall=0.0)[0] - 0.25) < 0.04  # of four symbols


def test_the_page_on_cell_and_memory_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its blocks in Python need JAX alone; those for PyTorch follow them."""
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "how-to" / "cell-and-memory.md").read_text()
    names: dict[str, Any] = {}
    for body in re.findall(r"^```py(?:thon)?\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        exec(compile(body, "cell-and-memory.md", "exec"), names)
    # As in JAX: 3.6 and 7.5, in an order of contexts that is drawn.
    assert names["first"] < 4.5 and names["again"] > 7


@pytest.mark.parametrize("kind", [ours.EpisodicLSTMCell, ours.Agent])
def test_the_api_names_the_arguments(kind: type) -> None:
    """By hand, since the documentation is built without PyTorch, which hides them."""
    page = (ROOT / "docs" / "api" / "torch.md").read_text()
    (written,) = re.findall(rf"autoclass:: {kind.__module__}\.{kind.__name__}\((.*)\)", page)
    bare = [p.replace(annotation=p.empty) for p in inspect.signature(kind).parameters.values()]
    assert str(inspect.Signature(bare)) == f"({written})"
