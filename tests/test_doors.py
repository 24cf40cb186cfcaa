"""Open doors: what another package adds works everywhere, and no line of ours changes.

`examples/outsider` is a real distribution with entry points, built and unpacked into a temporary
folder.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from hatchling.builders.wheel import WheelBuilder

from reinstate.agent import AGENTS, Wiring
from reinstate.errors import UserError
from reinstate.files import read_json
from reinstate.registry import Registry, register
from tiny import ENVIRONMENT

COMMANDS = """
list --json
train guessing --out run --set memory.share=0.5
evaluate run --json
train higher-lower --agent gru --set memory-kind=last-episode evaluation.epochs=2 --seeds 1 \
 --learner.epochs 2 --learner.lanes 2 --task.num-contexts 2 --task.repeats 2 --out other --json
reproduce guessing --out found --json
optimum guessing --json
report found run --out page.html
train barcode-bandits --agent gru --track broken --out nothing
"""

PROGRAM = """
import contextlib, io, json, sys
from reinstate.cli import main
said = []
for line in sys.stdin:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(line.split())
    said.append([code, out.getvalue(), err.getvalue()])
print(json.dumps(said))
"""


def with_packages(folder: Path) -> dict[str, str]:
    places = filter(None, (str(folder), ENVIRONMENT.get("PYTHONPATH")))
    return {**ENVIRONMENT, "PYTHONPATH": os.pathsep.join(places)}


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[list[Any]]]:
    """What the commands say in a process that has the package, and the folder they ran in."""
    packages, folder = tmp_path_factory.mktemp("packages"), tmp_path_factory.mktemp("work")
    source = Path(__file__).parents[1] / "examples" / "outsider"
    (wheel,) = WheelBuilder(str(source)).build(directory=str(folder / "wheels"))
    with ZipFile(wheel) as file:  # all that installing comes to, without scripts
        file.extractall(packages)
    (points,) = packages.glob("*.dist-info/entry_points.txt")
    points.write_text(f"{points.read_text()}\n[reinstate.sinks]\nbroken = outsider.nowhere:Sink\n")
    lines = COMMANDS.replace("\\\n", "").strip()
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=lines,
        cwd=folder,
        env=with_packages(packages),
        capture_output=True,
        text=True,
        check=True,
    )
    return folder, [*json.loads(done.stdout), [packages, "", ""]]


def test_list_shows_what_the_package_adds(said: tuple[Path, list[list[Any]]]) -> None:
    code, out, _ = said[1][0]
    listed = json.loads(out)
    assert code == 0
    assert {"guessing", "barcode-bandits"} <= listed["experiments"].keys()
    assert "higher-lower" not in listed["experiments"]  # the world of an experiment: listed once
    assert listed["agents"]["gru"].startswith("A GRU whose retrieved state")
    assert "last-episode" in listed["memories"]


def test_it_is_trained_and_judged(said: tuple[Path, list[list[Any]]]) -> None:
    folder, ((code, *_), (judged, out, _)) = said[0], said[1][1:3]
    assert code == judged == 0
    verdict = json.loads(out)
    assert 0 <= verdict["reward"]["mean"] <= 3 and "r_gate" not in verdict  # a GRU has none
    saved = read_json(folder / "run" / "config.json")["config"]
    assert saved["agent"] == "gru"
    assert saved["settings"]["memory"] == {"share": 0.5, "kind": "last-episode"}


def test_a_task_alone_can_be_trained_with_its_settings_as_options(
    said: tuple[Path, list[list[Any]]],
) -> None:
    code, out, err = said[1][3]
    assert code == 0, err
    assert json.loads(out)["last"]["epoch"] == 2


def test_it_is_reproduced_and_reported(said: tuple[Path, list[list[Any]]]) -> None:
    folder, ((code, out, _), (solved, optimum, _), (shown, *_)) = said[0], said[1][4:7]
    assert code == solved == shown == 0
    results = json.loads(out)
    claims = [(check["claim"], check["region"]) for check in results["checks"]]
    assert claims == [
        (f"{name} guesses no more than it may", [None, 3]) for name in ("gru", "l2rl")
    ]
    assert all(check["verdict"] in ("supported", "undecided") for check in results["checks"])
    assert results["alarms"] == []
    assert json.loads(optimum)["optimum"] == {"chance": 0.75, "known": 3.0}
    for name in ("gru", "l2rl"):
        agent = results["agents"][name]
        assert agent["share_of_ceiling"] == pytest.approx(agent["reward"]["mean"] / 3)
    page = (folder / "page.html").read_text()
    assert "A number to guess" in page and "gru" in page
    assert "Our own claims, which the paper does not make" in page
    assert (folder / "found" / "training-curves.png").exists()


def test_what_cannot_be_loaded_is_one_line_that_names_the_package(
    said: tuple[Path, list[list[Any]]],
) -> None:
    code, out, err = said[1][7]
    assert (code, out) == (2, "") and not (said[0] / "nothing").exists()
    assert "sink 'broken' of the package outsider cannot be loaded" in err.splitlines()[-1]


def test_a_run_whose_package_is_gone_says_what_is_missing(
    said: tuple[Path, list[list[Any]]], command: Any
) -> None:
    told = command(f"evaluate {said[0] / 'run'}")
    assert told.code == 2 and "unknown experiment 'guessing'" in told.err


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A registry that forgets what a test adds."""
    from reinstate import registry

    kept = {kind: dict(things) for kind, things in registry._registered.items()}
    monkeypatch.setattr(registry, "_registered", kept)
    return kept["agent"]


def test_a_packages_things_are_checked(said: tuple[Path, list[list[Any]]]) -> None:
    """By a process of its own, as an outsider would."""
    packages = said[1][-1][0]
    for package, code in (("outsider", 0), ("outsidre", 2)):
        words = [sys.executable, "-m", "reinstate.testing", package]
        done = subprocess.run(words, env=with_packages(packages), capture_output=True, text=True)
        assert done.returncode == code, done.stdout + done.stderr
        if code:
            assert "'outsidre' registers nothing here" in done.stderr
        else:
            kept = {line.partition(":")[0] for line in done.stdout.splitlines() if "keeps" in line}
            assert kept == {
                "tasks higher-lower",
                "agents gru",
                "memories last-episode",
                "experiments guessing",
            }


def test_register_gives_a_name(names: dict[str, Any]) -> None:
    wiring = Wiring("the gate, and the context as an input", sees_context=True, route="gate")
    register("agent", "both", wiring)
    assert AGENTS.find("both") is wiring and AGENTS.name_of(wiring) == "both"
    assert "both" in list(AGENTS) and "epl2rl" in AGENTS
    register("agent", "both", wiring)  # the same again is no mistake
    with pytest.raises(UserError, match="another agent 'both'"):
        register("agent", "both", Wiring("something else"))


@pytest.mark.parametrize(("kind", "name"), [("agnet", "x"), ("agent", ""), ("agent", "a/b")])
def test_names_and_kinds_are_checked(names: dict[str, Any], kind: str, name: str) -> None:
    with pytest.raises(UserError, match=r"did you mean agent|cannot be a name"):
        register(kind, name, object())


def test_an_unknown_name_says_which_was_meant() -> None:
    with pytest.raises(UserError, match="unknown agent 'epl2r': did you mean epl2rl"):
        AGENTS.find("epl2r")
    assert isinstance(AGENTS, Registry) and AGENTS.name_of(object()) is None
