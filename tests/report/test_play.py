"""The agent in the page: equal to JAX step by step, as good, and playable by key, touch and ear."""

import base64
import hashlib
import html
import json
import re
import shutil
import subprocess
from dataclasses import asdict, dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import results
from reinstate.agent import LARGEST_STORED
from reinstate.errors import UserError
from reinstate.files import read_json
from reinstate.memory import DND
from reinstate.report import load, page_of, write_page
from reinstate.report.play import (
    AGENT,
    GAMES,
    agent_of,
    best_of,
    game_of,
    play_page,
    play_script,
    play_section,
    write_play,
)
from reinstate.rollout import play, start_epoch
from reinstate.runs.judge import Evaluator
from reinstate.runs.run import Run, open_run
from reinstate.runs.shipped import FOLDER
from reinstate.tasks.bandits import BarcodeBandits
from reinstate.tasks.water_maze import WaterMaze
from report.reading import read
from report.recorded import RESULTS
from report.test_browser import BROWSER, browse
from spoken import Command, assert_refused

NODE = shutil.which("node")
needs_browser = pytest.mark.skipif(BROWSER is None, reason="no chromium on PATH")
needs_node = pytest.mark.skipif(NODE is None, reason="no node on PATH")
SCRIPT = str(files("reinstate.report") / "play" / "play.js")
CLOSE = 1e-5


def in_node(program: str, given: Any) -> Any:
    """What a program prints, given play.js as `Play` and a document as `given`."""
    lines = [
        f"const Play = require({json.dumps(SCRIPT)});",
        "const given = JSON.parse(require('fs').readFileSync(0, 'utf8'));",
        program,
    ]
    done = subprocess.run(
        [str(NODE), "-e", "\n".join(lines)],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


class Ending:
    """A world that keeps the state in which each of an epoch's episodes ended."""

    def new_history(self: Any) -> Any:
        return jnp.zeros((), jnp.int32), jnp.zeros(self.episodes_per_epoch, jnp.int32)

    def update_history(self, history: Any, task: Any, state: Any) -> Any:
        episode, ends = history
        return episode + 1, ends.at[episode].set(state)


@dataclass(frozen=True)
class Maze(Ending, WaterMaze):
    pass


@dataclass(frozen=True)
class Arms(Ending, BarcodeBandits):
    pass


def luck_in_maze(tasks: Any, steps: Any, ends: Any, episode: int) -> list[int]:
    """The cells where an episode began, and where the agent was put after each goal."""
    cells = [*steps.trace.cell[episode].tolist(), int(ends[episode])]
    found = np.flatnonzero(steps.reward[episode])
    return [cells[0], *(cells[step + 1] for step in found)]


def luck_of_arms(tasks: Any, steps: Any, ends: Any, episode: int) -> list[float]:
    """Draws that give the rewards that there were, whatever the arm."""
    return (1 - steps.reward[episode]).tolist()


WORLDS = {
    "water-maze": (Maze, "goal", luck_in_maze),
    "barcode-bandits": (Arms, "good_arm", luck_of_arms),
}


def recorded(experiment: str, recall: float, seed: int) -> tuple[list[dict[str, Any]], Any, Any]:
    """An epoch that the shipped agent plays in JAX: tasks as play.js takes them, steps, memory.

    In float64, as JavaScript computes: stored states grow to 1e6, and times that the rounding of
    one XLA's tanh in float32 differs visibly from another's. Keys have float32 as always.
    """
    kind, answer, luck = WORLDS[experiment]
    run = Run(FOLDER / experiment / AGENT)
    opened = open_run(run.path)
    evaluator, memory = Evaluator(*opened), opened.settings.memory
    params = jax.tree.map(lambda x: np.asarray(x[0], np.float64), evaluator.load(run).params)
    world = kind(**asdict(opened.settings.task))
    with jax.enable_x64(True):
        player = evaluator.learner.agent(jax.tree.map(jnp.asarray, params))
        task_key, key = jax.random.split(jax.random.key(seed))
        tasks = jax.jit(world.sample_epoch)(task_key)
        start = start_epoch(world, player, memory)
        contents = start.memory._replace(keys=start.memory.keys.astype(jnp.float32))
        run_epoch = jax.jit(partial(play, world, player, memory))
        state, (steps, _) = run_epoch(start._replace(memory=contents), tasks, key, recall=recall)
        tasks, steps, state = jax.tree.map(np.asarray, (tasks, steps, state))
    return (
        [
            {
                "context": int(tasks.context_id[n]),
                "key": tasks.context[n].tolist(),
                "answer": int(getattr(tasks, answer)[n]),
                "luck": luck(tasks, steps, state.history[1], n),
            }
            for n in range(world.episodes_per_epoch)
        ],
        steps,
        state.memory,
    )


FOLLOWING = """
const agent = Play.makeAgent(given.agent);
const follow = (logits, episode, step) => given.actions[episode][step];
const episodes = Play.play(agent, Play.makeWorld(given.game), given.tasks, follow, given.recall);
const mean = (numbers) => numbers.reduce((a, b) => a + b) / numbers.length;
const each = (of) => episodes.map((episode) => episode.steps.map(of));
console.log(JSON.stringify({
  logits: each((step) => step.logits), value: each((step) => step.value),
  r: each((step) => mean(step.r)), reward: each((step) => step.reward),
  retrieved: episodes.map(({ found }) => found ? found.entry.episode : -1),
  distance: episodes.map(({ found }) => found ? found.distance : -1),
  stored: episodes.at(-1).after.map(({ episode, value }) => [episode, ...value]),
}));
"""


@needs_node
@pytest.mark.parametrize("experiment", GAMES)
@pytest.mark.parametrize("recall", [1.0, 0.0])
def test_it_does_what_the_agent_does_in_jax(experiment: str, recall: float) -> None:
    tasks, steps, memory = recorded(experiment, recall, seed=3)
    found = in_node(
        FOLLOWING,
        {
            "agent": agent_of(experiment),
            "game": game_of(experiment),
            "tasks": tasks,
            "actions": steps.action.tolist(),
            "recall": recall,
        },
    )
    assert np.array_equal(found["reward"], steps.reward) and steps.reward.mean() > 0.1
    assert np.array_equal(found["retrieved"], steps.retrieved[:, 0])
    distance = np.where(np.isfinite(steps.distance[:, 0]), steps.distance[:, 0], -1)
    assert np.abs(found["distance"] - distance).max() < CLOSE
    for name, ours in {
        "logits": steps.logits,
        "value": steps.value,
        "r": steps.report["r"],
    }.items():
        assert np.abs(np.array(found[name]) - ours).max() < CLOSE, name
    written = np.argsort(memory.written)[-len(found["stored"]) :]  # slots, the oldest first
    ours = np.column_stack([memory.written[written] - 1, memory.values[written]])
    assert memory.written.max() == 100 and len(written) == np.sum(memory.written > 0) == 10
    assert np.allclose(found["stored"], ours, rtol=1e-4, atol=CLOSE)
    if recall and experiment == "barcode-bandits":
        assert np.abs(memory.values).max() == LARGEST_STORED  # the clip is reached


READING = """
const found = given.map(({ keys, queries }) => {
  const memory = keys.reduce((all, key, episode) => Play.write(all, { key, episode }), []);
  return queries.map((query) => Play.read(memory, query).entry.episode);
});
console.log(JSON.stringify(found));
"""


@needs_node
def test_its_memory_finds_what_ours_finds() -> None:
    """Barcodes are often equally near, in float32: then the newest comes back."""
    bits = np.random.default_rng(0).integers(0, 2, (40, 50, 10)).astype(np.float32)
    bits[..., 0] = 1  # none is all zero
    # Four ones of seven, and nine that share six with them, are equally near but for rounding.
    bits[0, :20] = np.resize([[1] * 4 + [0] * 6, [0] + [1] * 9], (20, 10))
    bits[0, 20:] = [1] * 7 + [0] * 3
    keys, queries = bits[:, :20], bits[:, 20:]
    dnd = DND(capacity=20)

    def read_all(keys: jax.Array, queries: jax.Array) -> jax.Array:
        def write(contents: Any, key: jax.Array) -> tuple[Any, None]:
            return dnd.write(contents, key, jnp.zeros(1)), None

        contents, _ = jax.lax.scan(write, dnd.empty(10, 1), keys)
        return jax.vmap(lambda query: dnd.read(contents, query)[0].written[0] - 1)(queries)

    ours = jax.jit(jax.vmap(read_all))(keys, queries)
    given = [
        {"keys": k.tolist(), "queries": q.tolist()} for k, q in zip(keys, queries, strict=True)
    ]
    assert np.array_equal(in_node(READING, given), ours)


OWN = """
const [agent, world] = [Play.makeAgent(given.agent), Play.makeWorld(given.game)];
const random = Play.generator(1);
const size = { contexts: 10, repeats: 10, barcodeLength: given.game.barcodeLength };
const rewards = Play.range(given.epochs, () => {
  const tasks = Play.sampleEpoch(world, random, size);
  const episodes = Play.play(agent, world, tasks, Play.choosing(random));
  const earned = episodes.map(({ steps }) => steps.reduce((sum, { reward }) => sum + reward, 0));
  return earned.reduce((a, b) => a + b) / episodes.length;
});
console.log(JSON.stringify(rewards));
"""


@needs_node
def test_it_earns_what_evaluate_says() -> None:
    """Over 200 epochs that JavaScript drew: within the interval of 50 that JAX drew."""
    run = Run(FOLDER / "water-maze" / AGENT)
    evaluator = Evaluator(*open_run(run.path))
    by_epoch = evaluator.record(evaluator.load(run)).reward[0].sum(axis=-1).mean(axis=-1)
    mean, error = by_epoch.mean(), by_epoch.std(ddof=1) / len(by_epoch) ** 0.5
    given = {"agent": agent_of("water-maze"), "game": game_of("water-maze"), "epochs": 200}
    earned = np.mean(in_node(OWN, given))
    assert len(by_epoch) == 50 and error < 0.06
    assert abs(earned - mean) < stats.t.ppf(0.975, 49) * error


DRAWN = """
const world = Play.makeWorld(given);
const size = { contexts: 10, repeats: 10, barcodeLength: 10 };
console.log(JSON.stringify(Play.sampleEpoch(world, Play.generator(given.seed), size)));
"""


@needs_node
@pytest.mark.parametrize("experiment", WORLDS)
def test_its_epochs_are_drawn_like_ours(experiment: str) -> None:
    tasks = in_node(DRAWN, {**game_of(experiment), "seed": 5})
    assert tasks == in_node(DRAWN, {**game_of(experiment), "seed": 5})
    assert tasks != in_node(DRAWN, {**game_of(experiment), "seed": 6})
    met: dict[int, list[Any]] = {}
    for task in tasks:
        assert task["exposure"] == len(met.setdefault(task["context"], []))
        met[task["context"]].append((task["key"], task["answer"]))
    assert list(met) == list(range(10))  # counted in the order in which they are met
    for same in met.values():
        assert len(same) == 10 and all(each == same[0] for each in same)
    assert len({tuple(same[0][0]) for same in met.values()}) == 10  # distinct barcodes
    assert len({same[0][1] for same in met.values()}) == 10  # and goals, or good arms
    if experiment == "water-maze":
        assert all(set(task["luck"]) <= set(range(16)) - {task["answer"]} for task in tasks)


def test_the_best_possible_is_what_was_recorded() -> None:
    for experiment, name in (
        ("water-maze", "without_memory"),
        ("barcode-bandits", "without_memory"),
    ):
        optimum = read_json(RESULTS / experiment / "results.json")["optimum"]
        assert best_of(experiment)[0] == pytest.approx(optimum[name])
    assert best_of("water-maze")[1] > 7 and best_of("barcode-bandits")[1] > 8


# ---- The page ----


def test_one_file_with_one_script_that_its_policy_allows() -> None:
    page = read(play_page())
    (policy,) = (m.attributes["content"] for m in page.all("meta") if "http-equiv" in m.attributes)
    script = [each for each in page.all("script") if not each.attributes]
    digest = base64.b64encode(hashlib.sha256(script[0].text.encode()).digest()).decode()
    assert len(script) == 1 and policy.endswith(f"script-src 'sha256-{digest}'")
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; ")
    assert not [e for e in page.walk() if {"src", "href"} & e.attributes.keys()]
    assert len(page.all("article")) == len(GAMES) and len(page.all("h1")) == 1
    assert len(play_section(GAMES).encode()) + len(play_script().encode()) < 120_000


def test_a_section_has_the_games_of_its_experiments() -> None:
    assert play_section(["two-step", "omniglot-bandits"]) == ""
    (game,) = read(play_section(["two-step", "water-maze"])).all("article")
    assert game.attributes["data-game"] == "water-maze"


def test_a_report_of_these_experiments_has_them_too() -> None:
    page = read(page_of(load([RESULTS / "water-maze"])))
    (game,) = page.all("article")
    assert game.attributes["data-game"] == "water-maze"
    assert page.one("script").text.endswith(play_script())
    assert page.one("nav").one("a", href="#play").text == "Play"
    other = page_of(load([RESULTS / "two-step"]))
    assert "<article" not in other and "makeAgent" not in other


def test_the_agent_is_the_package_s_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of the same name, which `reinstate watch` would prefer, is not looked at."""
    shutil.copytree(FOLDER / "water-maze/l2rl", tmp_path / "water-maze/epl2rl")
    expected = agent_of("water-maze")
    monkeypatch.chdir(tmp_path)
    assert agent_of("water-maze") == expected


def test_the_command_writes_a_page_and_replaces_only_its_own(command: Command) -> None:
    said = command("play")
    assert said.code == 0 and "next: open play.html" in said.out
    assert Path("play.html").read_text() == play_page()
    assert command("play").code == 0
    Path("notes.html").write_text("mine")
    assert_refused(command("play --out notes.html"), "no page of games")
    with pytest.raises(UserError, match="no report"):
        write_page([RESULTS / "water-maze"], Path("play.html"))
    assert Path("notes.html").read_text() == "mine"


def test_the_docs_show_it_in_a_frame(tmp_path: Path) -> None:
    app: Any = SimpleNamespace(builder=SimpleNamespace(format="html"), outdir=tmp_path)
    results.write_games(app, OSError())  # what failed elsewhere leaves no page
    assert not list(tmp_path.iterdir())
    results.write_games(app, None)
    (page,) = tmp_path.iterdir()
    assert page.read_text() == play_page()
    assert f'<iframe src="{page.name}"' in (RESULTS.parent / "docs" / "play.md").read_text()


# ---- In a browser ----

HARNESS = """<!doctype html><body><iframe src="ADDRESS" width="390" height="900"></iframe><script>
onload = () => {
  const frame = document.querySelector("iframe");
  const [page, view] = [frame.contentDocument, frame.contentWindow];
  const errors = [];
  const pressing = (key) => new view.KeyboardEvent("keydown", { key, bubbles: true });
  const texts = (elements) => [...elements].map((each) => each.textContent);
  view.addEventListener("error", (event) => errors.push(event.message));
  const game = (name) => {
    const root = page.querySelector(`[data-game="${name}"]`);
    const part = (name) => root.querySelector(`[data-part="${name}"]`);
    return {
      root, part, heard: () => part("live").textContent,
      press: (key) => part("board").dispatchEvent(pressing(key)),
      click: (selector) => root.querySelector(selector).click(),
      scores: () => [...part("scores").rows].map(({ cells }) => texts(cells)),
      lit: () => texts(root.querySelectorAll(".entries .lit, .entries .off")),
    };
  };
  const found = (() => { PROGRAM })();
  found.errors = errors;
  found.loaded = view.performance.getEntriesByType("resource").length;
  found.widths = [page.documentElement.scrollWidth, page.documentElement.clientWidth];
  const report = document.createElement("pre");
  report.textContent = JSON.stringify(found);
  document.body.append(report);
};
</script>"""


def driven(tmp_path: Path, program: str, *flags: str) -> dict[str, Any]:
    """What a program sees of the page, in a frame as wide as a phone."""
    write_play(tmp_path / "play.html")
    address = (tmp_path / "play.html").as_uri()
    harness = tmp_path / "harness.html"
    harness.write_text(HARNESS.replace("ADDRESS", address).replace("PROGRAM", program))
    flags = ("--allow-file-access-from-files", "--dump-dom", *flags)
    seen = browse(harness.as_uri(), tmp_path / "profile", *flags)
    assert "CONSOLE" not in seen.log, seen.log
    (text,) = re.findall(r"<pre>(.*?)</pre>", seen.dom, re.DOTALL)
    found: dict[str, Any] = json.loads(html.unescape(text))
    assert found["errors"] == [] and found["loaded"] == 0
    scroll, client = found["widths"]
    assert scroll <= client <= 390
    return found


MAZE = """
const { root, part, press, click, heard, scores, lit } = game("water-maze");
const began = heard();
press("ArrowRight");
const moved = heard();
press("ArrowUp"); press("x");
const twice = heard();
click('[data-move="2"]');
const touched = heard();
for (let step = 3; step < 20; step++) press("ArrowDown");
const over = heard();
press("ArrowLeft");
const unmoved = heard();
press("Enter");
const next = heard();
const yours = scores()[0];
for (let episode = 1; episode < 6; episode++) {
  for (let step = 0; step < 20; step++) press("ArrowLeft");
  if (episode < 5) press("Enter");
}
const finished = heard();
click(".keys .first");
const [turn, first, gates] = [root.dataset.turn, heard(), part("gates-said").textContent];
const running = root.querySelector('[data-do="run"]').textContent;
click('[data-do="run"]');
const entries = [];
for (let episode = 0; episode < 5; episode++) {
  click('[data-do="on"]');
  entries.push({ met: part("where").textContent, lit: lit(), heard: heard() });
}
click('[data-part="recall"]');
const dashed = root.querySelectorAll(".entries .off").length;
const off = { dashed, lit: lit(), said: part("gates-said").textContent };
for (let step = 0; step < 20; step++) click('[data-do="step"]');
return {
  began, moved, twice, touched, over, unmoved, next, yours, finished,
  agent: { turn, first, gates, running }, entries, off, end: heard(), scores: scores(),
};
"""


@needs_browser
def test_the_maze_is_played_by_keys_and_told_in_words(tmp_path: Path) -> None:
    seen = driven(tmp_path, MAZE)
    assert seen["began"] == "Maze A is new to you. 20 steps."
    assert seen["moved"].startswith("Right") and seen["moved"].endswith("so far, 19 steps left.")
    assert seen["twice"].startswith("Up") and "18 steps left" in seen["twice"]
    assert seen["touched"].startswith("Up") and "17 steps left" in seen["touched"]
    assert seen["over"].startswith("Maze A is over: ") and seen["unmoved"] == seen["over"]
    assert re.fullmatch(
        r"Maze (A again: you were here 1 time before|B is new to you)\. 20 steps\.", seen["next"]
    )
    assert re.fullmatch(r"\d+\.\d\d", seen["yours"][1]) and seen["yours"][2] == "–"
    assert "Now watch the agent." in seen["finished"]


@needs_browser
def test_the_agent_shows_what_comes_back(tmp_path: Path) -> None:
    seen = driven(tmp_path, MAZE)
    assert seen["agent"]["turn"] == "agent" and seen["agent"]["running"] == "Pause"
    assert "Its memory is empty." in seen["agent"]["first"]
    assert "There is nothing to let in yet." in seen["agent"]["gates"]
    for entry in seen["entries"]:
        (lit,) = entry["lit"]
        name = entry["met"][:6]
        assert ("exposure 2" in entry["met"]) == lit.startswith(name), entry
        assert "comes back" in lit and "What comes back is episode" in entry["heard"]
    assert any("exposure 2" in entry["met"] for entry in seen["entries"])
    (off,) = seen["off"]["lit"]
    assert seen["off"]["dashed"] == 1 and "recall is off" in off
    assert "nothing comes through" in seen["off"]["said"]
    assert "In all it has" in seen["end"] and "and you have" in seen["end"]
    names = [row[0] for row in seen["scores"]]
    assert names == ["you", "agent", "agent, recall off", "best possible, on average"]
    assert all(re.fullmatch(r"\d+\.\d\d", cell) for row in seen["scores"] for cell in row[1:])


ARMS = """
const { root, part, press, click, heard, scores } = game("barcode-bandits");
press("3");
const pulled = heard();
click(".arms button:last-child");
const label = root.querySelector(".arms button:last-child").getAttribute("aria-label");
const last = { heard: heard(), label };
for (let pull = 2; pull < 10; pull++) press("0");
const over = heard();
press("Enter");
click('button[data-turn="agent"]');
const still = root.querySelector('[data-do="run"]').textContent;
const filled = [];
for (let episode = 0; episode < 6; episode++) {
  filled.push(part("entries").querySelectorAll(".state").length);
  click('[data-do="on"]');
}
return { pulled, last, over, still, filled, where: part("where").textContent };
"""


@needs_browser
def test_the_arms_answer_to_digits_and_the_memory_fills(tmp_path: Path) -> None:
    seen = driven(tmp_path, ARMS, "--force-prefers-reduced-motion")
    assert re.match(
        r"Arm 3: (nothing\.|a reward!) \d rewards? so far, 9 pulls left", seen["pulled"]
    )
    assert seen["last"]["heard"].startswith("Arm 10: ")
    assert re.match("Arm 10, pulled 1 times, [01] rewards", seen["last"]["label"])
    assert seen["over"].startswith("Bandit A is over: ")
    assert seen["still"] == "Play"  # where motion is unwelcome nothing moves by itself
    assert (
        seen["filled"][0] == 0
        and seen["filled"][1] == 1
        and seen["filled"] == sorted(seen["filled"])
    )
    assert seen["filled"][-1] <= 3  # a context that comes back takes the place of its own
