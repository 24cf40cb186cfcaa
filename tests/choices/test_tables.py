"""Tables from outside: what is read, what is refused and why, and what becomes of it."""

import gzip
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reinstate.choices import tables
from reinstate.choices.agents import recovery
from reinstate.choices.model import Choices, count_choices
from reinstate.choices.tables import COLUMNS, read_choices
from reinstate.errors import UserError
from reinstate.figures.choices import fitted_stay, fitted_weights
from reinstate.figures.choices import recovery as recovery_charts
from reinstate.runs.choice_fits import example_rows, fit_choices, write_example

Table = Callable[..., Path]
HEADER = ",".join(COLUMNS)
GOOD = """\
7,1,10,0,,left,pink,1
7,1,20,0,,right,blue,0
7,1,30,1,10,left,blue,1
8,1,10,false,,right,blue,1
8,1,11,true,10,right,pink,0
"""


@pytest.fixture
def table(tmp_path: Path) -> Table:
    def write(rows: str, header: str = HEADER, name: str = "table.csv") -> Path:
        (tmp_path / name).write_text(f"{header}\n{rows}", encoding="utf-8")
        return tmp_path / name

    return write


def complaint(path: Any, **options: Any) -> list[str]:
    with pytest.raises(UserError) as error:
        read_choices(path, **options)
    return str(error.value).split("\n")


def as_lists(choices: Choices) -> dict[str, list[Any]]:
    return {name: column.tolist() for name, column in choices._asdict().items()}


def test_a_table_by_hand(table: Table) -> None:
    found = read_choices(table(GOOD), common={"left": "pink"})
    assert as_lists(found.choices) == {
        "participant": [0, 0, 0, 1, 1],
        "session": [0, 0, 0, 0, 0],
        "episode": [0, 1, 2, 0, 1],
        "cued": [False, False, True, False, True],
        "cue_episode": [-1, -1, 0, -1, 0],
        "action": [0, 1, 0, 1, 1],
        "state": [0, 1, 1, 1, 0],
        "reward": [1, 0, 1, 1, 0],
    }
    assert found.participants == ["7", "8"]
    assert (found.actions, found.states) == (["left", "right"], ["pink", "blue"])
    assert found.skipped == 0


def test_labels_pair_in_sorted_order_unless_told(table: Table) -> None:
    plain = read_choices(table(GOOD))
    assert plain.states == ["blue", "pink"]
    assert plain.choices.state.tolist() == [1, 0, 0, 0, 1]
    also = read_choices(table(GOOD), common={"right": "blue", "left": "pink"})
    assert also.choices.state.tolist() == [0, 1, 1, 1, 0]
    assert "both actions" in complaint(table(GOOD), common={"right": "blue", "left": "blue"})[0]
    assert "['left', 'right']" in complaint(table(GOOD), common={"up": "blue"})[0]


def test_numbers_sort_as_numbers_and_floats_are_whole(table: Table) -> None:
    found = read_choices(table("a,1,1.0,0,nan,10.0,2,1.0\na,1,2,0,NA,9,1,0\na,1,3,1,2.0,9,2,1\n"))
    assert (found.actions, found.states) == (["9", "10"], ["1", "2"])
    assert found.choices.action.tolist() == [1, 0, 0]
    assert found.choices.cue_episode.tolist() == [-1, -1, 1]


def test_rows_may_come_in_any_order(table: Table) -> None:
    lines = GOOD.splitlines()
    turned = read_choices(table("\n".join(lines[::-1]) + "\n")).choices
    straight = read_choices(table(GOOD)).choices
    np.testing.assert_array_equal(count_choices(turned), count_choices(straight))
    assert turned.episode.tolist() == straight.episode.tolist()[::-1]


def test_what_is_missing_is_plain(table: Table) -> None:
    rows = "a,3,left,x,1\na,4,right,y,0\n"
    found = read_choices(table(rows, header="participant,episode,action,state,reward"))
    assert found.choices.session.tolist() == [0, 0]
    assert not found.choices.cued.any()
    cue_alone = table(
        "a,1,,0,0,1\na,2,1,1,1,0\n", "participant,episode,cue_episode,action,state,reward"
    )
    assert read_choices(cue_alone).choices.cued.tolist() == [False, True]


def test_columns_under_other_names(table: Table) -> None:
    header = HEADER.replace("action", "choice1").replace("participant", "sub")
    found = read_choices(table(GOOD, header), {"action": "choice1", "participant": "sub"})
    assert found.participants == ["7", "8"]
    assert "no column 'action'" in complaint(table(GOOD, header), columns={"participant": "sub"})[0]
    assert "did you mean action" in complaint(table(GOOD), columns={"acton": "x"})[0]
    assert "no column 'block'" in complaint(table(GOOD), columns={"session": "block"})[0]


def test_all_that_is_missing_is_named_at_once(table: Table) -> None:
    (told,) = complaint(table("1,left,1\n", "id,x,r"), columns={"reward": "gain", "action": "x"})
    assert "no column 'participant' or 'state' or 'gain': say which are meant" in told
    assert told.endswith("--columns participant=NAME state=NAME reward=NAME; it has id, x, r")


def test_rows_in_order_serve_where_episodes_have_no_numbers(table: Table) -> None:
    """Each session counts for itself, cues count from 1, and a dropped row leaves a gap."""
    rows = "a,0,0,1,\nb,1,1,1,\na,1,0,0,\na,0,1,1,2\nb,0,0,?,\nb,1,0,1,1\n"
    path = table(rows, "participant,action,state,reward,cue_episode")
    found = read_choices(path, skip_bad=True).choices
    assert found.episode.tolist() == [0, 0, 1, 2, 2]
    assert found.cue_episode.tolist() == [-1, -1, -1, 1, 0]


HBAYESDM = """\
subjID\tlevel1_choice\tlevel2_choice\treward
s1\t2\t1\t0
s1\t1\t2\t1
s2\t1\t3\t1
s2\t2\t4\t0
"""


def test_hbayesdm_is_understood(tmp_path: Path) -> None:
    (tmp_path / "choices.txt").write_text(HBAYESDM)
    found = read_choices(str(tmp_path / "choices.txt"))
    assert found.participants == ["s1", "s2"] and found.states == ["1/2", "3/4"]
    assert found.choices.state.tolist() == [0, 0, 1, 1]
    assert found.choices.episode.tolist() == [0, 1, 0, 1]
    turned = read_choices(tmp_path / "choices.txt", common={"1": "3/4"})
    assert turned.choices.state.tolist() == [1, 1, 0, 0]
    (tmp_path / "choices.txt").write_text(HBAYESDM.replace("\t4\t", "\t3\t"))
    assert "level" not in complaint(tmp_path / "choices.txt")[0]
    assert "second_choice" in complaint(tmp_path / "choices.txt")[0]


def test_rewards_of_minus_one(table: Table) -> None:
    path = table(GOOD.replace("blue,0", "blue,-1").replace("pink,0", "pink,-1.0"))
    assert "expected 0 or 1 (for -1 and 1 there is --signed-rewards)" in complaint(path)[1]
    assert read_choices(path, signed_rewards=True).choices.reward.tolist() == [1, 0, 1, 1, 0]
    assert "reward is '0', expected -1 or 1" in complaint(table(GOOD), signed_rewards=True)[1]


def columns_of(text: str, header: str = HEADER) -> dict[str, list[Any]]:
    """What a data frame would make of a table."""
    rows = [[int(v) if v.isdecimal() else v or None for v in r.split(",")] for r in text.split()]
    return dict(zip(header.split(","), map(list, zip(*rows, strict=True)), strict=True))


def test_tables_in_memory_are_read_like_files(table: Table) -> None:
    theirs = read_choices(table(GOOD))
    found = read_choices(columns_of(GOOD))
    assert as_lists(found.choices) == as_lists(theirs.choices)
    assert found.participants == theirs.participants and found.states == theirs.states
    bad = columns_of(GOOD)
    bad["reward"][1] = float("nan")
    heading, told = complaint(bad)
    assert heading == "1 of 5 rows in the table are bad: mend them, or drop them with --skip-bad"
    assert told.strip() == "row 2: reward is empty, expected 0 or 1"


def test_what_is_no_table_in_memory() -> None:
    with pytest.raises(TypeError, match="a data frame, a dict of columns, or Choices, not as int"):
        read_choices(7)
    (told,) = complaint(columns_of(GOOD) | {"reward": [1, 0]})
    assert "not equally long: participant has 5" in told and "reward has 2" in told
    assert "has no column 'participant' or" in complaint({})[0]


BAD = {
    "7,1,40,0,,left,pink,x": "reward is 'x', expected 0 or 1",
    "7,1,40,0,,left,pink,": "reward is empty, expected 0 or 1",
    "7,1,40,0,,up,pink,1": "action is 'up', expected 'left' or 'right'",
    "7,1,4.5,0,,left,pink,1": "episode is '4.5', expected a whole number",
    ",1,40,0,,left,pink,1": "participant is empty, expected a name or a number",
    "7,1,40,maybe,,left,pink,1": "cued is 'maybe', expected 0, 1, true or false",
    "7,1,40,1,,left,pink,1": "cue_episode is empty, expected a whole number on a cued row",
    "7,1,40,0,10,left,pink,1": "cue_episode is '10' on an uncued row, expected nothing",
    "7,1,40,1,15,left,pink,1": "cue_episode is 15: this session has no such good row",
    "8,1,40,1,20,left,pink,1": "cue_episode is 20: this session has no such good row",
    "7,1,40,1,50,left,pink,1": "cue_episode is 50, expected one before episode 40",
    "7,1,20,0,,left,pink,1": "episode 20 comes twice in this session",
    "7,1,40,0,,left,pink": "7 fields, expected 8",
}


@pytest.mark.parametrize("row", BAD)
def test_bad_rows_are_named_or_dropped(table: Table, row: str) -> None:
    path = table(f"{GOOD}\n{row}\n7,1,50,0,,left,pink,1\n")  # an empty line counts as a line
    heading, told = complaint(path)
    assert heading.startswith("1 of 7 rows in ") and "--skip-bad" in heading
    assert told.strip() == f"line 8: {BAD[row]}"
    found = read_choices(path, skip_bad=True)
    assert found.skipped == 1 and found.bad_rows == [f"line 8: {BAD[row]}"]
    assert len(found.choices.action) == 6


def test_what_follows_a_dropped_row_has_no_predecessor(table: Table) -> None:
    rows = ["p,1,1,0,,0,0,1", "p,1,2,0,,1,1,9", "p,1,3,0,,0,1,1", "p,1,4,0,,1,0,0"]
    found = read_choices(table("\n".join(rows)), skip_bad=True).choices
    assert found.episode.tolist() == [0, 2, 3]
    rows[1] = "p,1,?,0,,1,1,1"  # not even its number can be read
    assert read_choices(table("\n".join(rows)), skip_bad=True).choices.episode.tolist() == [0, 2, 3]


def test_a_bad_row_takes_its_cues_with_it(table: Table) -> None:
    chain = "7,1,40,0,,left,pink,x\n7,1,50,1,40,left,pink,1\n7,1,60,1,50,left,pink,1\n"
    found = read_choices(table(GOOD + chain), skip_bad=True)
    assert found.skipped == 3
    assert found.bad_rows[2] == "line 9: cue_episode is 50: this session has no such good row"


def test_ten_bad_rows_are_shown_and_the_rest_counted(table: Table) -> None:
    bad = "".join(f"7,1,{e},0,,left,pink,x\n" for e in range(40, 65))
    heading, *told = complaint(table(GOOD + bad))
    assert heading.startswith("25 of 30 rows")
    assert len(told) == 11
    assert told[0].strip().startswith("line 7:") and told[-1].strip() == "and 15 more"


NO_TABLES: dict[str, tuple[str, bytes]] = {
    "table.csv is empty": ("csv", b""),
    "has no value": ("csv", HEADER.encode()),
    "only the value 'left'": ("csv", f"{HEADER}\n7,1,1,0,,left,pink,1".encode()),
    "save it as UTF-8": ("csv", b"\xff\xfe\x00\x81" * 10),
    "field larger than field limit": ("csv", HEADER.encode() + b'\n"' + b"x" * 200_000),
    "several columns 'action'": ("csv", f"{HEADER},action\n".encode()),
    "not a gzipped file": ("csv.gz", HEADER.encode()),
    "ended before the end-of-stream": ("csv.gz", gzip.compress(HEADER.encode())[:-4]),
    "invalid block type": ("csv.gz", gzip.compress(HEADER.encode())[:10] + b"\xff" * 40),
    "cannot be read as Parquet": ("parquet", b"no"),
}


@pytest.mark.parametrize("message", NO_TABLES)
def test_files_that_are_no_tables(tmp_path: Path, message: str) -> None:
    kind, content = NO_TABLES[message]
    (tmp_path / f"table.{kind}").write_bytes(content)
    (told,) = complaint(tmp_path / f"table.{kind}")
    assert message.lower() in told.lower() and f"table.{kind}" in told


def test_a_table_has_no_more_rows_than_fit(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MOST_ROWS", 4)
    assert "more than 4 rows: split it" in complaint(table(GOOD))[0]


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_other_delimiters_a_byte_order_mark_and_compressed_files(
    table: Table, tmp_path: Path, delimiter: str
) -> None:
    plain = as_lists(read_choices(table(GOOD)).choices)
    rows, header = (text.replace(",", delimiter) for text in (GOOD, "\ufeff" + HEADER))
    path = table(rows, header)
    assert as_lists(read_choices(path).choices) == plain
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(path.read_bytes()))
    assert as_lists(read_choices(tmp_path / "a.csv.gz").choices) == plain


def test_parquet_is_read_like_csv(tmp_path: Path) -> None:
    """Numbers, truth values, gaps, categories and bytes."""
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    write_example(tmp_path / "example.csv")
    names = dict(zip(COLUMNS, zip(*example_rows(), strict=True), strict=True))
    columns: dict[str, Any] = {name: list(values) for name, values in names.items()}
    columns["cue_episode"] = [None if cue == "" else cue for cue in columns["cue_episode"]]
    columns["cued"] = [bool(cued) for cued in columns["cued"]]
    columns["action"] = pyarrow.array([str(a).encode() for a in columns["action"]])
    columns["state"] = pyarrow.array(columns["state"]).dictionary_encode()
    parquet.write_table(pyarrow.table(columns), tmp_path / "example.parquet")
    ours, theirs = (read_choices(tmp_path / f"example.{kind}") for kind in ("csv", "parquet"))
    assert as_lists(ours.choices) == as_lists(theirs.choices)
    columns["reward"][3] = 5
    parquet.write_table(pyarrow.table(columns), tmp_path / "bad.parquet")
    assert complaint(tmp_path / "bad.parquet")[1].strip() == "row 4: reward is '5', expected 0 or 1"
    columns["reward"] = [[1]] * len(columns["reward"])
    parquet.write_table(pyarrow.table(columns), tmp_path / "lists.parquet")
    assert "cannot be read as Parquet: Unsupported cast" in complaint(tmp_path / "lists.parquet")[0]


def test_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.parquet").touch()
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    assert "pip install 'reinstate[parquet]'" in complaint(tmp_path / "t.parquet")[0]


@pytest.fixture
def document(tmp_path: Path) -> Any:
    write_example(tmp_path / "example.csv")
    return json.loads(json.dumps(fit_choices(tmp_path / "example.csv").document, allow_nan=False))


def test_charts_show_the_document(document: Any) -> None:
    uncued, cued = fitted_weights({"people": document})
    assert list(cued.categories) == ["IMF", "IMB", "EMF", "EMB", "bias", "persev."]
    imf, (shown, *_) = document["group"]["uncued"]["IMF"], uncued.series
    assert shown.y[0] == imf["mean"]
    assert shown.ci95[0] == pytest.approx(imf["ci95"])
    own, by_model = fitted_stay({"people": document})[2].series
    assert list(own.y) == document["stay"]["episodic"]["mean"]
    assert list(by_model.y) == document["stay_predicted"]["episodic"]["mean"]
    assert by_model.name == "people, by the model" and by_model.marker == "ring"


def test_charts_of_the_classic_task_and_of_recovery(table: Table) -> None:
    rows = [[row[0], row[1], *row[2:3], *row[5:]] for row in example_rows() if not row[3]]
    text = "".join(",".join(map(str, row)) + "\n" for row in rows)
    header = "participant,session,episode,action,state,reward"
    classic: Any = fit_choices(table(text, header), "learned").document
    assert list(classic["group"]) == ["uncued"]
    assert len(fitted_weights({"": classic})) == len(fitted_stay({"": classic})) == 1
    data: Any = recovery([{"IMB": 1.0}, {"EMB": 2.0}], sessions=5)
    _, cued = recovery_charts(data)
    assert [row["true"] for row in data["rows"] if row["strategy"] == "EMB"] == [0.0, 2.0]
    assert len(cued.series) == 6  # one for each weight
