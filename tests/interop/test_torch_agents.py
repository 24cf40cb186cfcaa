"""Trained agents in PyTorch; mistakes, the example and the pages that show it."""

import inspect
import re
import runpy
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

torch = pytest.importorskip("torch")

import reinstate.interop.torch as ours  # noqa: E402
from reinstate import memory  # noqa: E402
from reinstate.agent import Network, make_agent  # noqa: E402
from reinstate.baselines.bandits import bandit_optimum  # noqa: E402
from reinstate.errors import UserError  # noqa: E402
from reinstate.memory.recognition import Recognition, Recognizer  # noqa: E402
from reinstate.player import Inputs  # noqa: E402
from reinstate.runs.notebook import load  # noqa: E402
from reinstate.tasks.bandits import BarcodeBandits  # noqa: E402
from tiny import trained_run  # noqa: E402

ROOT = Path(__file__).parents[2]
LANES, INPUT, HIDDEN = 3, 4, 6
KEY, VALUE = 4, 2

torch.set_num_threads(1)  # small tensors, and others may be at work
rng = np.random.default_rng(0)


ROUTES = ["l2rl-context", "epl2rl", "epl2rl-input-2"]


@pytest.mark.parametrize(
    "network",
    [
        Network(hidden_size=HIDDEN),
        Network(HIDDEN, feedback="joint", reinstated="first-step", stored="rms"),
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
        inputs = Inputs._make([*map(jnp.asarray, given[:4]), jnp.full(lanes, last < 0)])
        state, decision = step(inputs, jnp.asarray(c_ep), state)
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


EVERY_CUE = Recognition(similarity=True, margin=True, age=True, emptiness=True, null_slot=True)
FEW = Recognition(similarity=False, sharpening=False, once=False, neighbours=2)


@pytest.mark.parametrize("recognition", [EVERY_CUE, FEW], ids=["every cue", "none"])
def test_agents_recognise_as_in_jax(recognition: Recognition) -> None:
    """From an empty memory on, in lanes that store and ask for different contexts."""
    world, network = BarcodeBandits(num_arms=3, barcode_length=4), Network(HIDDEN)
    network = replace(network, recognition=replace(recognition, reach=0.1))
    agent: Any = make_agent("epl2rl-recognition", world, network, key=jax.random.key(1))
    agent = jax.tree.map(lambda x: jnp.array(0.5 * rng.normal(size=x.shape), x.dtype), agent)
    agent = eqx.tree_at(lambda a: a.recognizer, agent, Recognizer(network.recognition))
    dictionary: Any = network.recognition.memory(memory.DND(capacity=5), world)
    twin: Any = ours.Agent(agent)
    like = ours.Consolidating(**asdict(dictionary))
    contents = jax.tree.map(lambda x: jnp.stack([x] * LANES), dictionary.empty(KEY, HIDDEN))
    mine = like.empty(KEY, HIDDEN, LANES)
    state = jax.tree.map(lambda x: jnp.stack([x] * LANES), agent.initial_state())
    twin_state = twin.initial_state(LANES)
    read, step = jax.jit(jax.vmap(partial(agent.read, dictionary))), jax.jit(jax.vmap(agent))
    write = jax.jit(jax.vmap(dictionary.write))
    for number in range(8):
        context, shown = rng.normal(size=(2, LANES, KEY)).astype(np.float32)
        recalled, _, contents = read(contents, context, state)
        found, mine = like.read(mine, torch.tensor(context))
        remembered = twin.recall(found)
        assert_near(remembered.c_ep, recalled.c_ep)
        assert_near(remembered.cues, recalled.cues)
        action, reward = np.full(LANES, number % 2 - 1), np.ones(LANES, np.float32)
        features = np.ones((LANES, world.observation_size), np.float32)
        first = action < 0
        inputs = Inputs._make(map(jnp.asarray, (features, context, action, reward, first)))
        state, decision = step(inputs, recalled, state)
        given = map(torch.tensor, (features, context, action, reward))
        twin_state, own = twin(*given, remembered, twin_state)
        assert_near(own.logits, decision.logits)
        contents = write(contents, shown, jax.vmap(agent.to_store)(state))
        mine = like.write(mine, torch.tensor(shown), twin.to_store(twin_state).detach())
    nothing = twin(*map(torch.tensor, (features, context, action, reward)), None, twin_state)
    assert torch.isfinite(nothing[1].logits).all()
    learned = [] if agent.recognizer.sharpness is None else [twin.recognizer.sharpness]
    (own.logits**2).sum().backward()
    assert all(weight.grad.abs().max() > 0 for weight in learned)


CELL = ours.EpisodicLSTMCell(INPUT, HIDDEN)
MEMORY = ours.DND(capacity=3)


def cell_step(x: Any, c_ep: Any = None) -> Any:
    return CELL(x, CELL.initial_state(LANES), c_ep)


def read(query: Any) -> Any:
    return MEMORY.read(MEMORY.empty(KEY, VALUE, LANES), query)


def write(key: Any, value: Any) -> Any:
    return MEMORY.write(MEMORY.empty(KEY, VALUE, LANES), key, value)


zeros = torch.zeros
MISTAKES: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: cell_step(zeros(LANES, 5)), ValueError, r"x has shape \(3, 5\), expected \(3, 4\)"),
    (lambda: cell_step(zeros(LANES, INPUT), c_ep=zeros(HIDDEN)), ValueError, "c_ep has shape"),
    (lambda: read(zeros(KEY)), ValueError, r"query has shape \(4,\), expected \(3, 4\)"),
    (lambda: write(zeros(LANES, KEY), zeros(LANES, KEY)), ValueError, "value has shape"),
    (lambda: ours.DND(4).read(MEMORY.empty(KEY, VALUE), zeros(KEY)), ValueError, "3 slots"),
    (lambda: ours.DND(capacity=2, k=3), UserError, "raise capacity or lower k"),
]


@pytest.mark.parametrize("number", range(len(MISTAKES)))
def test_mistakes_are_told_in_words(number: int) -> None:
    mistake, kind, words = MISTAKES[number]
    with pytest.raises(kind, match=words):
        mistake()


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)


def test_importing_it_loads_no_jax_and_without_pytorch_names_the_fix() -> None:
    done = run_python("import sys, reinstate.interop.torch; print(*sys.modules)")
    assert "torch" in done.stdout.split() and "jax" not in done.stdout.split()
    done = run_python("import sys; sys.modules['torch'] = None; import reinstate.interop.torch")
    assert done.stderr.splitlines()[-1].endswith('pip install "reinstate[torch]"')


def test_cued_recall_in_pytorch() -> None:
    main = runpy.run_path(str(ROOT / "examples" / "cued_recall_torch.py"))["main"]
    right, own = main(130)
    assert right > 0.9 and own > 0.95
    assert abs(main(25, recall=0.0)[0] - 0.25) < 0.04  # of four symbols


def test_a_ppo_with_the_memory_in_pytorch() -> None:
    """It knows more than can be known without a memory; a replay has the gradients of the play."""
    ppo = SimpleNamespace(**runpy.run_path(str(ROOT / "examples" / "recurrent_ppo_torch.py")))
    best, last = bandit_optimum(ppo.WORLD), ppo.main(updates=80, lanes=48)[-10:].mean(axis=0)
    assert last[0] < best["without_memory"] + 0.1 and last.mean() > best["without_memory"] + 0.1
    envs = ppo.ReinstateVectorEnv(ppo.WORLD, LANES, per="exposure", last_step=True)
    envs.reset(seed=1)
    dictionary = ppo.EpisodicMemory(ppo.DICTIONARY, ppo.WORLD.context_size, ppo.HIDDEN, LANES)
    net = ppo.Network(envs)
    batch = ppo.rows_of(ppo.play(net, envs, dictionary, 1.0))
    policy, value = net.replay(batch.seen, batch.c_ep)
    slopes = []
    for one, other in ((batch.value, batch.log_prob), (value, policy.log_prob(batch.action))):
        net.zero_grad()
        (one.square() + other).sum().backward()
        slopes.append([weight.grad.clone() for weight in net.parameters()])
    torch.testing.assert_close(*slopes, rtol=1e-4, atol=1e-4)


def test_the_page_on_cell_and_memory_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its blocks in Python need JAX alone; those for PyTorch follow them."""
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "how-to" / "cell-and-memory.md").read_text()
    names: dict[str, Any] = {}
    for body in re.findall(r"^```py(?:thon)?\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        exec(compile(body, "cell-and-memory.md", "exec"), names)
    assert names["found"].written[:, 0].tolist() == [1] * 4  # the second time, the first came back


def test_shipped_weights_play_in_pytorch() -> None:
    first, again = runpy.run_path(str(ROOT / "examples" / "shipped_agent_torch.py"))["main"]()
    # As in JAX: 3.6 and 7.5, in an order of contexts that is drawn.
    assert first < 4.5 and again > 7


@pytest.mark.parametrize("kind", [ours.EpisodicLSTMCell, ours.Agent])
def test_the_api_names_the_arguments(kind: type) -> None:
    """By hand, since the documentation is built without PyTorch, which hides them."""
    page = (ROOT / "docs" / "api" / "interop.md").read_text()
    (written,) = re.findall(rf"autoclass:: {kind.__module__}\.{kind.__name__}\((.*)\)", page)
    bare = [p.replace(annotation=p.empty) for p in inspect.signature(kind).parameters.values()]
    assert str(inspect.Signature(bare)) == f"({written})"
