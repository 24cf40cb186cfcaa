"""Help, and verbs that only tell: every option explained, within eighty columns."""

import json
import re
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any

import pytest

from reinstate import registry
from reinstate.agent import AGENTS
from reinstate.cli import VERBS
from reinstate.evaluation import Record
from reinstate.learner import TrainState
from reinstate.memory import MEMORIES
from reinstate.runs.evaluator import Evaluator
from reinstate.runs.experiment import EXPERIMENTS, Experiment
from reinstate.runs.sinks import SINKS
from reinstate.tasks.bandits import BarcodeBandits
from spoken import Command, assert_refused


@pytest.mark.parametrize("line", ["", "--help", "-h", "help"])
def test_help_has_every_verb_on_one_line(command: Command, line: str) -> None:
    said = command(line)
    assert said.code == 0 and said.err == ""
    for verb, text in VERBS.items():
        assert re.search(rf"^  {verb} +{re.escape(text)}$", said.out, re.MULTILINE)
    assert all(len(row) <= 80 for row in said.out.splitlines())
    assert said.out.startswith("Start with: reinstate watch water-maze\n")


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_every_verb(command: Command, verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fits into 80 columns, and is the same text at 200: no word is broken."""
    lines = [f"{verb} --help"]
    if verb in ("train", "reproduce", "tune", "optimum"):
        lines += [f"{verb} two-step --help", f"{verb} two-step --help-all"]
    for line in lines:
        pages = {}
        for columns in (80, 200):
            monkeypatch.setenv("COLUMNS", str(columns))
            said = command(line)
            assert said.code == 0 and said.err == "" and "Traceback" not in said.out
            assert max(map(len, said.out.splitlines())) <= columns
            pages[columns] = sorted(re.sub("[─╭╮╰╯│]", " ", said.out).split())
        assert pages[80] == pages[200]
        assert pages[80][0] and f"reinstate {verb}" in said.out


def test_every_option_has_help(command: Command) -> None:
    for verb in VERBS:
        line = f"{verb} water-maze" if verb in ("train", "reproduce", "tune", "optimum") else verb
        line = {"pretrain": "pretrain omniglot"}.get(verb, line)
        shown = command(f"{line} --help-all").out
        for option in re.finditer(r"│ (--\S+)[^│]*│\n│(?! {20})", shown):
            assert re.search(r"  \S", option[0].split("--", 1)[1]), option[0]


@pytest.mark.parametrize("verb", ["train", "reproduce", "tune", "optimum"])
def test_help_without_an_experiment_teaches(command: Command, verb: str) -> None:
    said = command(f"{verb} --help")
    assert said.code == 0 and said.err == ""
    for name in EXPERIMENTS:
        assert f"\n  {name} " in said.out
    assert f"\n  reinstate {verb} barcode-bandits\n" in said.out
    assert f"`reinstate {verb} EXPERIMENT --help" in " ".join(said.out.split())


@pytest.mark.parametrize("verb", ["train", "reproduce"])
def test_help_of_an_experiment_has_all_its_settings(command: Command, verb: str) -> None:
    said = command(f"{verb} barcode-bandits --help-all")
    brief = command(f"{verb} barcode-bandits --help").out
    assert "--learner.lanes INT" in brief and "--learner.unroll" not in brief
    assert 10 < len(re.findall("^│ -", brief, re.MULTILINE)) < 20 and "╭─ ranges" not in brief
    assert f"`reinstate {verb} barcode-bandits --help-all` explains" in brief
    out = "reproduction/" if verb == "reproduce" else "runs/"
    for text in (
        f"usage: reinstate {verb} barcode-bandits [-h] [OPTIONS]\n",
        "--task.num-arms INT",
        "Arms of the bandit. (default: 10)",
        "--learner.lanes INT",
        "--set NAME=VALUE …",
        "  memory.k=1\n",
        "--track NAME …",
        "--resume",
        "--checkpoint-every INT",
        f"{out}barcode-bandits",
    ):
        assert text in said.out


def test_help_shows_the_presets_defaults(command: Command) -> None:
    lanes = re.compile(r"--learner\.lanes INT.*?\(default:[\s│]*(\d+)\)", re.DOTALL)
    for preset, settings in EXPERIMENTS["barcode-bandits"].presets.items():
        said = command(f"train barcode-bandits --preset {preset} --help")
        found = lanes.search(said.out)
        assert found and int(found[1]) == settings.learner.lanes


def test_list(command: Command) -> None:
    said = command("list")
    assert said.code == 0 and said.err == ""
    rest, weights = said.out.split("\nweights\n")
    for name in (*EXPERIMENTS, *AGENTS, *MEMORIES, *SINKS):
        (line,) = re.findall(rf"^  {name} +\S.*$", rest, re.MULTILINE)  # one record per line
    assert re.search(r"^  water-maze +epl2rl \(reward 7\.", weights, re.MULTILINE)
    assert "experiments of the paper\n" in rest and "\nagents, rivals\n" in rest
    (line,) = re.findall("^  barcode-bandits .*$", rest, re.MULTILINE)
    assert "; section 4.1, Fig. 3a; presets quick, paper; agents epl2rl, l2rl, " in line
    listed = json.loads(command("list --json").out)
    assert set(listed) == {"experiments", "agents", "memories", "sinks", "weights", "packages"}
    assert listed["experiments"]["barcode-bandits"]["presets"] == ["quick", "paper"]
    assert listed["agents"].keys() == AGENTS.keys()


def test_list_says_each_thing_once(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """A task stands in the line of its experiment, under the experiment's title."""

    class Volatile(BarcodeBandits):
        """A task, said at length."""

    known = registry._registered
    mine = {"volatile-bandit": Experiment("volatile-bandit", Volatile, title="A volatile bandit")}
    monkeypatch.setitem(known, "experiment", {**known["experiment"], **mine})
    monkeypatch.setitem(known, "task", {**known["task"], "volatile": Volatile})
    (line,) = re.findall("^  volatile.*", command("list").out, re.MULTILINE)
    assert line.startswith("  volatile-bandit        A volatile bandit; presets quick")


def test_list_what_cannot_be_loaded(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """One broken package of somebody else is named, and breaks nothing."""
    broken = EntryPoint("chess", "no_such_module:CHESS", "reinstate.experiments")

    def with_broken(**which: Any) -> Any:
        return EntryPoints([broken]).select(**which)

    monkeypatch.setattr(registry, "entry_points", with_broken)
    said = command("list")
    assert said.code == 0 and "  chess " in said.out and "No module named" in said.out
    assert "  barcode-bandits " in said.out and "  epl2rl " in said.out
    assert "chess" in command("train --help").out
    assert_refused(command("train chess"), "of the package no_such_module:CHESS cannot be loaded")


def test_optimum(command: Command) -> None:
    said = command("optimum water-maze --task.height 3 --task.width 5")
    assert said.code == 0 and said.err == ""
    assert re.search(r"^without memory +5\.7094$", said.out, re.MULTILINE)
    said = command("optimum two-step --json")
    document = json.loads(said.out)
    assert document["task"]["p_common"] == 0.8
    assert document["optimum"]["uncued"] == pytest.approx(0.650528)
    said = command("optimum --help")
    assert said.code == 0 and "two-step" in said.out
    said = command("optimum barcode-bandits --help")
    assert said.code == 0 and "--task.num-arms INT" in said.out


def test_bounds_of_a_large_maze_say_that_they_are_bounds(command: Command) -> None:
    said = command("optimum water-maze --task.height 6 --task.width 6")
    assert said.code == 0 and said.out.startswith("Too large to solve exactly: these are bounds")
    assert re.search(r"^without memory at most +\d", said.out, re.MULTILINE)


def test_watch(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records: list[Record] = []  # played once: compiling is most of it
    play = Evaluator.record

    def record(self: Evaluator, state: TrainState) -> Record:
        records[:] = records or [play(self, state)]
        return records[0]

    monkeypatch.setattr(Evaluator, "record", record)
    maze = "--task.height 3 --task.width 3 --task.steps 5 --task.num-contexts 2 --task.repeats 2"
    tiny = "--seeds 1 --set network.hidden-size=4 --learner.lanes 2 --learner.epochs 1"
    said = command(f"train water-maze --out m {maze} {tiny} --set evaluation.epochs=2")
    assert said.code == 0, said.err
    said = command("watch water-maze m --exposure 2")
    assert said.code == 0 and said.out.count("step ") == 5  # no terminal: one block per step
    assert "exposure 2" in said.out
    said = command("watch water-maze m")
    reached = re.findall(r"so far (\d+)", said.out)
    assert len(reached) == 2 * 5
    told = f"reward {reached[4]}, then {reached[9]}"
    assert said.out.splitlines()[-2] == told  # how it ended, before what comes next
    said = command("watch water-maze m --svg m.svg")
    assert said.out.startswith(f"m.svg shows exposures 1, 2: {told}\n")
    assert said.code == 0 and (tmp_path / "m.svg").read_text().startswith("<svg")
    assert_refused(command("watch water-maze m --svg m.svg"), "m.svg")
    assert_refused(command("watch water-maze m --seed 7"), "has the seeds [0], not 7")
    assert_refused(command("watch water-maze m --exposure 9"), "lower --exposure")
