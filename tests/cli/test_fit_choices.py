"""`reinstate fit-choices`, as a user meets it."""

import csv
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reinstate.choices.comparison import Posterior
from reinstate.choices.model import NAMES, group_one_back, simulate
from reinstate.choices.tables import COLUMNS
from reinstate.cli import fit_choices as verb
from reinstate.figures import mpl
from reinstate.files import read_json
from reinstate.runs import choice_fits as fit_choices
from reinstate.runs.choice_fits import example_rows, write_choices
from spoken import Command, Said, assert_refused
from tiny import contents

ROOT = Path(__file__).parents[2]
FILES = {"fit.json", "weights.csv", "choice-weights.png", "choice-weights.svg", "stay.png"}
FILES |= {"stay.svg"}


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are empty files: drawing them takes longer than fitting."""

    def save(drawings: Any, stem: Path) -> None:
        assert list(drawings)
        for kind in ("png", "svg"):
            stem.with_suffix(f".{kind}").touch()

    monkeypatch.setattr(mpl, "save", save)


def write(path: Path, rows: list[list[Any]], header: tuple[str, ...] = COLUMNS) -> None:
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([header, *rows])


def read(path: Path) -> list[dict[str, str]]:
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_the_example_in_the_repository_is_the_one_that_is_written(
    command: Command, tmp_path: Path
) -> None:
    said = command("fit-choices --example choices.csv")
    assert said == Said(0, "next: reinstate fit-choices choices.csv  # fit it\n", "")
    recorded = ROOT / "examples" / "two-step-choices.csv"
    assert (tmp_path / "choices.csv").read_bytes() == recorded.read_bytes()
    assert_refused(command("fit-choices --example choices.csv"), "choose another --example")


def test_the_example_fitted(command: Command, tmp_path: Path) -> None:
    command("fit-choices --example choices.csv")
    said = command("fit-choices choices.csv")
    assert said.code == 0 and said.err == "choices.csv: fitting\n"
    assert max(map(len, said.out.splitlines()[:-2])) <= 80
    assert said.out.startswith("4 participants, 12 sessions, 1,200 episodes, 600 of them cued\n")
    out = tmp_path / "choice-fit" / "choices"
    assert {path.name for path in out.iterdir()} == FILES
    assert "(and .svg) are in choice-fit/choices\nnext: reinstate fit-choices choice" in said.out
    document = read_json(out / "fit.json")
    assert document["model"] == "one-back"
    (shown,) = re.findall(r"\nIMB +(\S+) \[(\S+), (\S+)\] ", said.out)
    imb = document["group"]["uncued"]["IMB"]
    assert shown == tuple(f"{number:.2f}" for number in (imb["mean"], *imb["ci95"]))
    assert f"{imb['p']:.3f}".removeprefix("0") in said.out
    rows = read(out / "weights.csv")
    assert len(rows) == 4 * (4 + 6)
    assert float(rows[0]["estimate"]) == document["rows"][0]["estimate"]
    before = contents(tmp_path)
    assert_refused(command("fit-choices choices.csv"), "choice-fit/choices is not empty: choose")
    assert contents(tmp_path) == before


def test_a_foreign_table(command: Command, hasty: None, tmp_path: Path) -> None:
    """Other names, labels that pair crosswise, a bad row, JSON."""
    header = (*COLUMNS[:5], "choice1", "stage2", "win")
    rows = [[*r[:5], ("left", "right")[r[5]], ("pink", "blue")[r[6]], r[7]] for r in example_rows()]
    write(tmp_path / "theirs.csv", [*rows, ["p9", 1, 1, 0, "", "left", "pink", 7]], header)
    line = "fit-choices theirs.csv --columns action=choice1 state=stage2 reward=win --json"
    assert_refused_at_length(command(f"{line} --common left=pink"), "line 1202: reward is '7'")
    document = json.loads(command(f"{line} --common left=pink --skip-bad --out a/b").out)
    assert document["out"] == "a/b" and document["data"]["states"] == ["pink", "blue"]
    assert document["warnings"] == ["skipped 1 bad rows"]
    turned = json.loads(command(f"{line} --skip-bad --out c").out)  # left leads to blue
    assert "say so (--common left=pink)" in turned["warnings"][1]


def assert_refused_at_length(said: Said, message: str) -> None:
    """Bad rows are the one mistake that takes a line each."""
    assert said.code == 2 and said.out == "" and "Traceback" not in said.err
    assert message in said.err


def test_one_participant_has_a_fit_of_their_own(
    command: Command, hasty: None, tmp_path: Path
) -> None:
    write(tmp_path / "one.csv", [row for row in example_rows() if row[0] == "p1"])
    said = command("fit-choices one.csv --out out")
    assert said.code == 0 and "weights of the only participant; p of z" in said.out
    row = read(tmp_path / "out" / "weights.csv")[1]
    text = f"{float(row['estimate']):.2f} [{float(row['low']):.2f}, {float(row['high']):.2f}]"
    assert row["strategy"] == "IMB" and text in said.out
    said = command("fit-choices one.csv --model hierarchical --out h")
    assert_refused(said, "needs 2 or more participants")
    assert not (tmp_path / "h").exists()


def test_the_hierarchical_model(
    command: Command, hasty: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its table has no p; the sampler itself is tested elsewhere."""

    def sampled(counts: Any, names: list[str], seed: int) -> list[Posterior]:
        rng = np.random.default_rng(seed)
        weights = NAMES["uncued"]
        data = [group_one_back(own, "uncued") for own in counts]
        beta = 1 + 0.1 * rng.standard_normal((2, 50, 4, 4))
        mu, diverging = beta.mean(axis=2), np.zeros((2, 50), bool)
        diverging[0, 3] = True
        people = [*range(4)]
        return [Posterior("uncued", weights, names, people, data, beta, mu, mu, diverging)]

    pytest.importorskip("numpyro")
    monkeypatch.setattr("reinstate.choices.hierarchical.sample_posteriors", sampled)
    command("fit-choices --example choices.csv")
    said = command("fit-choices choices.csv --model hierarchical --seed 7 --out out")
    assert said.code == 0 and re.search(r"\nIMF +\S+ \[\S+, \S+\]\n", said.out)
    assert "sampling" in said.err and "uncued: 1 divergent transition" in said.out
    document = read_json(tmp_path / "out" / "fit.json")
    assert document["fits"][0]["seed"] == 7 and document["fits"][0]["divergences"] == 1
    assert document["stay_predicted"]["incremental_uncued"]["ci95"][0]
    assert document["stay_predicted"]["episodic"]["mean"] == [None] * 4
    assert "comparison" not in document  # which needs ArviZ
    header, *_ = (tmp_path / "out" / "weights.csv").read_text().splitlines()
    assert header.endswith("r_hat,n_eff")


def test_recovery(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {}

    def few(**settings: Any) -> Any:
        asked.update(settings)
        return real([{"IMB": 1.0}, {"EMB": 2.0}], **settings | {"sessions": 3})

    real = verb.recovery
    monkeypatch.setattr(verb, "recovery", few)
    said = command("fit-choices --recover r --seed 3")
    assert said.code == 0 and re.search(r"\n\d+\.\d% of 20 intervals of 95% hold", said.out)
    found = {path.name for path in (tmp_path / "r").iterdir()}
    assert found == {"recovery.png", "recovery.svg", "recovery.csv", "recovery.json"}
    assert asked["seed"] == 3 and asked["alpha"] == 1
    rows = read(tmp_path / "r" / "recovery.csv")
    assert {row["true"] for row in rows if row["strategy"] == "EMB"} == {"0.0", "2.0"}
    assert read_json(tmp_path / "r" / "recovery.json")["seed"] == 3
    assert_refused(command("fit-choices --recover r"), "r is not empty")
    said = command("fit-choices --recover q --model learned --json")
    assert json.loads(said.out)["model"] == "learned" and asked["alpha"] == 0.5
    assert "like" not in asked
    command("fit-choices --example choices.csv")
    command("fit-choices choices.csv --out fit")
    command("fit-choices fit --recover again")
    assert asked["like"]["data"]["episodes"] == 1200


def test_recovery_at_a_design(command: Command, hasty: None, tmp_path: Path) -> None:
    said = command("fit-choices --recover r --design participants=3 sessions=2 episodes=40 cued=0")
    assert said.code == 0
    assert said.out.startswith("3 agents, 2 × 40 episodes each, 0% cued; p(common) 0.80\n")
    assert re.search(r"\nIMB +uncued ", said.out) and " cued  " not in said.out
    write(tmp_path / "few.csv", [row for row in example_rows() if row[0] in ("p1", "p2")])
    said = command("fit-choices few.csv --recover as-table --design p_common=.7 --json")
    design = json.loads(said.out)["design"]
    assert design == {
        "participants": 2, "sessions": 3, "episodes": 100, "p_common": 0.7, "cued": 0.5,
    }  # fmt: skip
    command("fit-choices few.csv --out fit")
    as_fit = json.loads(command("fit-choices fit --recover as-fit --json").out)["design"]
    assert as_fit == {**design, "p_common": as_fit["p_common"]}
    assert as_fit["p_common"] != 0.7


def test_an_agent_beside_people(command: Command, hasty: None, tmp_path: Path) -> None:
    """People's own names, labels and rewards need not be the agent's."""
    people = [[*row[:5], "ab"[row[5]], *row[6:7], 2 * row[7] - 1] for row in example_rows()]
    write(tmp_path / "people.csv", people)
    write_choices(tmp_path / "agent.csv", simulate({"IMB": 60.0}, 3, seed=1), ["epl2rl-0"])
    said = command("fit-choices people.csv --signed-rewards --common a=0 --beside agent.csv")
    assert said.code == 0 and "\nbeside it, agent:\n1 participant, 3 sessions" in said.out
    assert "warning: choices follow a rule without exception" in said.out
    document = read_json(tmp_path / "choice-fit" / "people" / "fit.json")
    assert document["beside"]["agent"]["group"]["uncued"]["IMB"]["mean"] > 3
    said = command("fit-choices people.csv --signed-rewards --out b --beside choice-fit/people")
    assert "beside it, people (2):" in said.out


def test_rival_models(command: Command, hasty: None, tmp_path: Path) -> None:
    write(tmp_path / "two.csv", [row for row in example_rows() if row[0] in ("p1", "p2")])
    said = command("fit-choices two.csv --compare")
    for model in ("no strategy", "learned", "one-back without EMB"):
        line = rf"\n{model} +[\d.]+ +[\d.]+ +[\d.]+    [012] of 2 +0\.\d\d\n"
        assert re.search(line, said.out)


GOOD: list[list[Any]] = [["a", 1, e, 0, "", e % 2, e // 2 % 2, e // 4 % 2] for e in range(12)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "fit-choices needs FILE first (see reinstate fit-choices --help)"),
        ("absent.csv", "absent.csv does not exist"),
        (".", ". cannot be read: it is a folder"),
        ("words.csv", "--columns participant=NAME action=NAME state=NAME reward=NAME; it has lor"),
        ("apart.csv", "no episode has a predecessor in its session"),
        ("good.csv --model lerned", "Expected one of ('one-back', 'learned', 'hierarchical')"),
        ("good.csv --columns action=x", "has no column 'x': say"),
        ("good.csv --columns action", "--columns takes each name once, as in a=b, not 'action'"),
        ("good.csv --columns action=a action=b", "--columns takes each name once"),
        ("good.csv --common left=1", "--common names the action 'left'"),
        ("good.csv --prior-sd 0", "prior_sd must be positive, not 0"),
        ("good.csv --draws x.nc", "--draws needs --model hierarchical"),
        ("good.csv --beside absent.csv", "absent.csv does not exist"),
        ("good.csv --beside full", "fit.json does not exist"),
        ("good.csv --out good.csv", "good.csv is a file: choose another --out"),
        ("good.csv --out full", "full is not empty: choose another --out"),
        ("--example good.csv", "good.csv exists: choose another --example"),
        ("--recover full", "full is not empty: choose another --recover"),
        ("--recover x --design episodes=y", "--design: episodes is a number, not 'y'"),
        ("--recover x --design people=9", "unknown part of a design 'people'"),
        ("--recover x --design participants=9999999", "may have 2,000,000 episodes in all"),
        ("evaluate barcode-bandits/epl2rl --choices x.csv", "--choices is for the two-step task"),
    ],
)
def test_a_mistake_is_one_line(command: Command, tmp_path: Path, line: str, message: str) -> None:
    write(tmp_path / "good.csv", GOOD)
    write(tmp_path / "apart.csv", [["a", e, *row[2:]] for e, row in enumerate(GOOD)])
    (tmp_path / "words.csv").write_text("lorem\nipsum\n")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("years of work")
    before = contents(tmp_path)
    assert_refused(command(line if line.startswith("evaluate") else f"fit-choices {line}"), message)
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    ("module", "line", "extra"),
    [
        ("numpyro", "choices.csv --model hierarchical", "reinstate[fit]"),
        ("arviz", "choices.csv --model hierarchical --compare", "reinstate[arviz]"),
        ("arviz", "choices.csv --model hierarchical --draws x.nc", "reinstate[arviz]"),
    ],
)
def test_what_is_not_installed_is_named(
    command: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    module: str,
    line: str,
    extra: str,
) -> None:
    command("fit-choices --example choices.csv")
    monkeypatch.setitem(sys.modules, module, None)
    said = command(f"fit-choices {line}")
    assert_refused(said, extra)
    assert "pip install" in said.err
    assert [path.name for path in tmp_path.iterdir()] == ["choices.csv"]


def test_a_full_disk_leaves_nothing(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "good.csv", GOOD)
    (tmp_path / "empty").mkdir()

    def full(*_: Any) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(fit_choices, "write_tidy", full)
    for out in ("new", "empty"):
        said = command(f"fit-choices good.csv --out {out}")
        assert said.code == 2 and "No space left" in said.err
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["empty", "good.csv"]
