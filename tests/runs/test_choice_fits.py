"""Choices fitted in Python: the object, and what it says, draws and saves."""

import csv
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reinstate
from reinstate.choices.model import Choices, simulate
from reinstate.choices.tables import COLUMNS
from reinstate.errors import UserError
from reinstate.figures import mpl
from reinstate.runs.choice_fits import (
    FittedChoices,
    example_rows,
    fit_beside,
    label_of,
    read_design,
    write_choices,
    write_example,
)
from tiny import contents


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("example") / "people.csv")
    write_example(path)
    return path


@pytest.fixture(scope="module")
def found(example: str) -> FittedChoices:
    return reinstate.fit_choices(example)


def test_a_path_columns_and_choices_give_the_same_fit(example: str, found: FittedChoices) -> None:
    columns = dict(zip(COLUMNS, map(list, zip(*example_rows(), strict=True)), strict=True))
    again = reinstate.fit_choices(columns)
    assert again["rows"] == found["rows"] and again["data"]["file"] is None
    alone = simulate({"IMB": 1.0}, 2, seed=3)
    assert reinstate.fit_choices(alone).participants[1]["participant"] == "0"


def test_it_is_read_row_by_row_and_as_a_mapping(found: FittedChoices) -> None:
    assert repr(found) == "<FittedChoices: one-back, 4 participants, 1,200 episodes>"
    assert len(found.participants) == 4 * (4 + 6)
    assert found.participants[1]["strategy"] == "IMB"
    assert set(found) == set(found.document) and len(found) == len(found.document)
    posterior: Any = {**found.document, "model": "hierarchical"}
    posterior["rows"] = [*found["rows"], {"participant": "group mean"}, {"participant": "group sd"}]
    assert FittedChoices(posterior).participants == found.participants


def test_its_summary_is_text(found: FittedChoices) -> None:
    text = found.summary()
    assert text.startswith("4 participants, 12 sessions, 1,200 episodes, 600 of them cued\n")
    imb = found["group"]["uncued"]["IMB"]
    low, high = imb["ci95"]
    assert f"IMB              {imb['mean']:.2f} [{low:.2f}, {high:.2f}]" in text
    best = found["comparison"]["cued"][0]
    assert re.search(rf"{best['model']} +{best['aic']:.1f} +{best['bic']:.1f} +0\.0", text)
    stay = found["stay"]["episodic"]["mean"][0], found["stay_predicted"]["episodic"]["mean"][0]
    assert f"{stay[0]:.3f}".removeprefix("0") in text and f"{stay[1]:.3f}".removeprefix("0") in text


def test_it_is_drawn_alone_and_beside_others(found: FittedChoices) -> None:
    figure = found.plot()
    shown = [axes.get_title(loc="left") for axes in figure.axes if axes.get_visible()]
    assert shown == [
        "uncued episodes", "cued episodes", "previous episode, uncued", "previous episode, cued",
        "cued episode",
    ]  # fmt: skip
    agent = reinstate.fit_choices(simulate({"EMB": 3.0}, 2, seed=1))
    (legend,) = found.plot({"epL2RL": agent}).legends
    names = [text.get_text() for text in legend.get_texts()]
    assert names == ["people", "people, by the model", "epL2RL", "epL2RL, by the model"]


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are empty files: drawing them takes longer than fitting."""
    monkeypatch.setattr(mpl, "save", lambda charts, stem: stem.with_suffix(".png").touch())


def test_other_fits_lie_beside_it(
    found: FittedChoices, example: str, hasty: None, tmp_path: Path
) -> None:
    """Tables in the same layout, in ours, of the same name; fits, but by the same model only."""
    rows = [[*row[:5], ("left", "right")[row[5]], *row[6:]] for row in example_rows()]
    theirs, header = tmp_path / "theirs.csv", [*COLUMNS[:7], "win"]
    theirs.write_text("\n".join(",".join(map(str, row)) for row in [header, *rows]))
    how: Any = {"columns": {"reward": "win"}, "common": {"left": "0"}}
    first = reinstate.fit_choices(theirs, **how)
    for path in (Path(example), theirs, Path(example)):
        first.put_beside(label_of(path), fit_beside(path, "one-back", how))
    beside = first["beside"]
    assert list(beside) == ["people", "theirs (2)", "people (2)"]
    assert all(each["rows"] == found["rows"] for each in beside.values())
    (tmp_path / "bad.csv").write_text(theirs.read_text() + "\np9,1,1,0,,left,0,7")
    with pytest.raises(UserError, match="1 of 1201 rows"):  # and not that ours has no column win
        fit_beside(tmp_path / "bad.csv", "one-back", how)
    learned: Any = FittedChoices({**found.document, "model": "learned"})
    learned.save(tmp_path / "learned")
    assert fit_beside(tmp_path / "learned", "learned", how)["rows"] == found["rows"]
    with pytest.raises(UserError, match="is fitted by the learned model, not by one-back"):
        fit_beside(tmp_path / "learned", "one-back", how)
    (tmp_path / "other.json").write_text("[]")
    with pytest.raises(UserError, match=r"other\.json does not hold a fit of choices"):
        fit_beside(tmp_path / "other.json", "one-back", how)


def test_it_is_saved_as_the_command_does(found: FittedChoices, hasty: None, tmp_path: Path) -> None:
    found.save(str(tmp_path / "fit"))
    names = {path.name for path in (tmp_path / "fit").iterdir()}
    assert names == {"fit.json", "weights.csv", "choice-weights.png", "stay.png"}
    assert read_design(str(tmp_path / "fit"))._asdict() == found["data"]["design"]
    before = contents(tmp_path)
    with pytest.raises(UserError, match="only the hierarchical model has posterior draws"):
        found.save_draws("x.nc")
    with pytest.raises(UserError, match="is not empty"):
        found.save(tmp_path / "fit")
    assert contents(tmp_path) == before


def test_its_design_is_recovered(found: FittedChoices) -> None:
    recovered = found.recovery(seed=2)
    assert recovered["design"] == found["data"]["design"]
    assert recovered["intervals"] == 4 * (4 + 6)
    imb = [row["true"] for row in recovered["rows"] if row["strategy"] == "IMB"]
    assert np.mean(imb) == pytest.approx(found["group"]["cued"]["IMB"]["mean"], abs=0.5)


def test_group_weights_say_whose_they_are(found: FittedChoices) -> None:
    weight = found["group"]["cued"]["EMB"]
    assert weight["participants"] == ["p1", "p2", "p3", "p4"]
    own = {
        r["participant"]: r["estimate"]
        for r in found["rows"]
        if r["part"] == "cued" and r["strategy"] == "EMB"
    }
    assert dict(zip(weight["participants"], weight["per_participant"], strict=True)) == own


def test_choices_are_written_as_they_are_read(tmp_path: Path) -> None:
    played = simulate({"EMB": 1.0}, 2, 10, seed=4)
    write_choices(str(tmp_path / "agent.csv"), played, ["epl2rl-7"])
    with open(tmp_path / "agent.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows[0]["participant"] == "epl2rl-7" and rows[0]["cue_episode"] == ""
    assert [row["episode"] for row in rows] == [str(e) for e in range(1, 11)] * 2
    again = reinstate.choices.read_choices(tmp_path / "agent.csv").choices
    for ours, theirs in zip(Choices._make(played), again, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_names_of_tables_and_fits() -> None:
    names = {"a/people.csv.gz": "people", "x.y.csv": "x.y", "fits/one": "one", "d/fit.json": "d"}
    assert {path: label_of(Path(path)) for path in names} == names
