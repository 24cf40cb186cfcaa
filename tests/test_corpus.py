"""Files that once ended in a traceback, a hang or a message of megabytes: now each is one line.

`python -m torture.fuzz` finds such files; what it found is kept here. The last tests do a little of
what it does.
"""

import copy
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save

from page.recorded import places, small
from reinstate.agent import AGENTS
from reinstate.analysis.verdicts import Region, judge_mean
from reinstate.choices.tables import read_choices
from reinstate.errors import UserError
from reinstate.figures.exposures import gates
from reinstate.figures.page import load, page_of
from reinstate.files import read_json, write_json
from reinstate.interop.exchange import load_cell
from reinstate.runs import search as searching
from reinstate.runs.candidates import Ranges
from reinstate.runs.checkpoints import load_checkpoint, write_checkpoint
from reinstate.runs.choice_fits import FittedChoices, fit_choices, read_design, read_fit
from reinstate.runs.conclusions import read_results
from reinstate.runs.run import open_run
from reinstate.settings import differences, to_dict
from reinstate_paper.barcode_bandits import BARCODE_BANDITS
from reinstate_paper.omniglot import embedder
from reinstate_paper.omniglot.embedder import packaged_file
from reinstate_paper.omniglot.pretraining import read_card
from tiny import TINY

LONG = 100_000
Read = Callable[[Path], Any]


def refusal(read: Callable[[], Any]) -> str:
    """Return why something is refused, in one line of bounded length."""
    with pytest.raises(UserError) as caught:
        read()
    message = str(caught.value)
    assert len(message.splitlines()) == 1 and len(message) < 2000
    return message


def changed(document: Any, path: str, value: Any) -> Any:
    """Put a value at one place of a copy; `...` takes away what is there."""
    new = here = copy.deepcopy(document)
    *names, last = (int(n) if n.isdecimal() else n for n in path.split("/"))
    for name in names:
        here = here[name]
    if value is ...:
        del here[last]
    else:
        here[last] = value
    return new


# Documents


@cache
def _choices() -> Any:
    """Return a fit of few choices, as fit.json has it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("reinstate.runs.provenance.commit", lambda: None)
        rows = stubbed_rows()
        return json.loads(json.dumps(fit_choices(rows, compare=True).document))


def stubbed_rows() -> dict[str, list[Any]]:
    """Sixty choices of one person."""
    draw = np.random.default_rng(0).integers(0, 2, (3, 60))
    names = dict(zip(("action", "state", "reward"), draw.tolist(), strict=True))
    return {"participant": ["p"] * 60, **names}


def fit(folder: Path, document: Any) -> str:
    write_json(folder / "fit.json", document)

    def read() -> None:
        found = FittedChoices(read_fit(folder))
        found.summary()
        read_design(folder)

    return refusal(read)


FITS = {
    "group/uncued": [],
    "group/uncued/IMF/ci95": ...,
    "group/uncued/IMF/mean": "x",
    "rows/0": 7,
    "rows/0/p": ...,
    "stay/episodic": ...,
    "stay/episodic/ci95": [None],
    "model": "one-back" + LONG * "x",
    "comparison": [],
    "comparison/uncued": [],
    "comparison/uncued/0": 1.5,
    "comparison/uncued/0/bic": [1.0],
    "data/actions": ["0"],
    "data/design/cued": 7.0,
    "data/design": ...,
}


@pytest.mark.parametrize("path", FITS)
def test_fits(tmp_path: Path, path: str) -> None:
    write_json(tmp_path / "fit.json", _choices())
    assert read_fit(tmp_path)["model"] == "one-back" and read_design(tmp_path).participants == 1
    assert "fit.json" in fit(tmp_path, changed(_choices(), path, FITS[path])) or "design" in path


CARDS = {"few_shot/0/accuracy": [], "few_shot/0/kaiser_2017": ..., "one_shot_runs": 3}
CARDS |= {"pixels_20_way_1_shot": [1.0], "epochs": "7", "few_shot": {}}


@pytest.mark.parametrize("path", CARDS)
def test_cards(tmp_path: Path, path: str) -> None:
    card, file = json.loads(packaged_file("card.json").read_text()), tmp_path / "card.json"
    write_json(file, card)
    assert read_card(file)["epochs"] == card["epochs"]
    write_json(file, changed(card, path, CARDS[path]))
    assert "does not describe an embedder" in refusal(lambda: read_card(file))


ASKED = searching.Asked(
    BARCODE_BANDITS, "quick", ["l2rl"], TINY, searching.Search(trials=2, ranges=Ranges())
)
IDENTITY = ASKED.identity()
PROVENANCE = dict.fromkeys(("version", "commit", "jax", "preset", "score", "command", "device"), "")
SCORE = {"reward": 1.0, "per_seed": [1.0, 1.0]}
TRIALS = [{**trial, "agents": {"l2rl": SCORE}} for trial in ASKED.new_trials(0)]
SEARCH = {**IDENTITY, **PROVENANCE, "trials": TRIALS, "seconds": {"compile": 1.0, "train": 1.0}}
SEARCHES = {
    "trials/0/round": ...,
    "trials/0": 3,
    "trials/1/round": 1,
    "trials/1/number": 7,
    "trials/0/setting/discount": ...,
    "trials/0/setting/more": 1.0,
    "trials/0/setting/value_cost": 1e39,
    "trials/0/agents/l2rl": [],
    "trials/0/agents": {"l2rl": {}},
    "seconds": ...,
}


@pytest.mark.parametrize("path", SEARCHES)
def test_searches(tmp_path: Path, path: str) -> None:
    write_json(tmp_path / "search.json", SEARCH)
    assert searching._begun(ASKED, tmp_path) == SEARCH
    write_json(tmp_path / "search.json", changed(SEARCH, path, SEARCHES[path]))
    assert "choose another --out" in refusal(lambda: searching._begun(ASKED, tmp_path))


@cache
def _results() -> Any:
    document = small()
    return document


RESULTS = {
    "agents/l2rl/reward/per_seed": [[1.0], [2.0, 3.0]],
    "agents/l2rl/reward/per_seed/0": "a",
    "agents/l2rl/reward/per_seed/1": {},
    "agents/epl2rl/by_exposure/regret": ...,
    "agents/epl2rl/by_exposure": ...,
    "agents/epl2rl/by_exposure/regret/per_seed": [1.0, 2.0, 3.0, 4.0, 5.0],
    "agents/epl2rl/seeds": [1],
}


@pytest.mark.parametrize("path", RESULTS)
def test_results_that_nothing_can_be_concluded_from(tmp_path: Path, path: str) -> None:
    write_json(tmp_path / "results.json", _results())
    assert read_results(tmp_path)["checks"]
    write_json(tmp_path / "results.json", changed(_results(), path, RESULTS[path]))
    refusal(lambda: read_results(tmp_path))


def test_a_claim_is_about_one_number_per_seed() -> None:
    """Of arrays there would be as many intervals, which no table can print."""
    with pytest.raises(ValueError, match="one number per seed"):
        judge_mean([[1.0, 2.0]] * 5, Region(low=0.0))


def test_settings_are_told_in_a_few_words(tmp_path: Path) -> None:
    (said,) = differences({"process": "a\n" * 90}, {"process": "x" * LONG})
    assert len(said.splitlines()) == 1 and len(said) < 300
    asked = changed(to_dict(TINY), "task/process", "bag" + "é" * LONG)
    config = {"experiment": "barcode-bandits", "agent": "l2rl", "settings": asked}
    write_json(tmp_path / "config.json", {"format": 2, "config": config})
    assert "settings.task.process" in refusal(lambda: open_run(tmp_path))


# Files


def _loop(folder: Path) -> Path:
    (folder / "results.json").symlink_to("results.json")
    return folder


def _metrics(folder: Path, lines: bytes) -> Path:
    """Write a checkpoint whose checksum is right and whose metrics are no metrics."""
    path, state = folder / "epoch-00001.safetensors", {"w": np.ones(2, np.float32)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("reinstate.runs.checkpoints.json.dumps", _dumps(lines))
        write_checkpoint(path, state, 1, [{}])
    return path


def _dumps(lines: bytes) -> Callable[[Any], str]:
    plain = json.dumps
    return lambda value: lines.decode() if value == {} else plain(value)


@pytest.mark.parametrize("lines", [b"{", b"[" * 70, b"7", b'{"epoch": 1}', b'{"epoch": "x"}'])
def test_metrics_of_a_checkpoint(tmp_path: Path, lines: bytes) -> None:
    path = _metrics(tmp_path, lines)
    template = {"w": np.ones(2, np.float32)}
    assert "its metrics cannot be read" in refusal(lambda: load_checkpoint(path, template))


def test_links_in_circles(tmp_path: Path) -> None:
    refusal(lambda: read_results(_loop(tmp_path)))
    (tmp_path / "card.json").symlink_to("card.json")
    refusal(lambda: read_card(tmp_path / "card.json"))
    write_json(tmp_path / "card.json", {})  # replaces the link
    assert read_json(tmp_path / "card.json") == {}


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such pipes")
def test_a_pipe_in_the_place_of_a_cell(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "cell.safetensors")
    assert "no regular file" in refusal(lambda: load_cell(tmp_path / "cell.safetensors"))


def test_a_type_of_many_lines(tmp_path: Path) -> None:
    content = save({"weight": np.ones(2, np.float16)})
    size = int.from_bytes(content[:8], "little")
    head = content[8 : 8 + size].replace(b'"F16"', b'"F16' + b"\\n" * 3000 + b'"')
    path = tmp_path / "cell.safetensors"
    path.write_bytes(len(head).to_bytes(8, "little") + head + content[8 + size :])
    refusal(lambda: load_cell(path))


@pytest.mark.parametrize(
    ("header", "cell"),
    [
        ("|".join(["action"] * 3000), "1"),
        ("action,state,reward", "9" * 70),
        ("reward,state,action", "9" * 70),
    ],
)
def test_tables_are_quoted_in_a_few_words(tmp_path: Path, header: str, cell: str) -> None:
    path = tmp_path / "choices.csv"
    path.write_text(f"participant,{header}\n" + f"p,0,1,{cell * 200}\n" * 20)
    with pytest.raises(UserError) as caught:
        read_choices(path)
    assert len(str(caught.value)) < 3000


# A little of the fuzzing

ODD: list[Any] = [None, True, -1, 1e308, 2**63, float("nan"), "", "x" * 300, [], {}, [[1], 2], ...]
DOCUMENTS: Mapping[str, tuple[Any, Read]] = {
    "fit.json": (None, lambda folder: FittedChoices(read_fit(folder)).summary()),
    "card.json": (
        json.loads(packaged_file("card.json").read_text()),
        lambda folder: read_card(folder / "card.json"),
    ),
    "search.json": (SEARCH, lambda folder: searching._begun(ASKED, folder)),
    "results.json": (None, lambda folder: page_of(load([folder]))),
    "config.json": (
        {
            "format": 2,
            "config": {"experiment": "barcode-bandits", "agent": "l2rl", "settings": to_dict(TINY)},
        },
        open_run,
    ),
}


@contextmanager
def _one_line() -> Iterator[None]:
    try:
        yield
    except UserError as error:
        assert len(str(error).splitlines()) == 1 and len(str(error)) < 4000


def _document(name: str) -> Any:
    made = {"fit.json": _choices, "results.json": _results}
    return made[name]() if name in made else DOCUMENTS[name][0]


@pytest.mark.parametrize("name", DOCUMENTS)
@settings(max_examples=20)
@given(data=st.data())
def test_any_value_anywhere(
    name: str, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    document, folder = _document(name), tmp_path_factory.getbasetemp() / "fuzz"
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    where = data.draw(st.sampled_from([path for path in places(document) if path]))
    value = data.draw(st.sampled_from(ODD) | st.recursive(st.floats() | st.text(), st.lists))
    new = changed(document, "/".join(map(str, where)), value)
    (folder / name).write_text(json.dumps(new))
    with _one_line():
        DOCUMENTS[name][1](folder)


@given(data=st.data())
def test_any_byte_anywhere(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    folder = tmp_path_factory.getbasetemp() / "bytes"
    folder.mkdir(exist_ok=True)
    path, state = folder / "epoch-00001.safetensors", {"w": np.ones(9, np.float32)}
    row = {"epoch": 1, "steps": 1, "seconds": 1.0, "reward": [1.0]}
    write_checkpoint(path, state, 1, [row])
    content = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] = data.draw(st.integers(0, 255))
    cut = data.draw(st.just(len(content)) | st.integers(0, len(content)))
    path.write_bytes(bytes(content[:cut]))
    with _one_line():
        found = load_checkpoint(path, state)
        assert np.array_equal(found.state["w"], state["w"]) and found.rows == [row]


def test_an_embedder_of_endless_channels(tmp_path: Path) -> None:
    path = tmp_path / "embedder.safetensors"
    path.write_bytes(save({"w": np.zeros(1)}, {embedder.FORMAT: '{"channels": [1e999, 64]}'}))
    assert "has broken settings" in refusal(lambda: embedder.load_embedder(path))


def test_rows_that_are_none_are_not_drawn() -> None:
    scores = {"r_by_trial": 0.5, "reward": {"mean": 1.0}}
    results: Any = {"agents": {"epl2rl": scores}}
    assert not [*gates(results)]


def test_an_endless_name_is_cut() -> None:
    message = refusal(lambda: AGENTS.find("x\n" * LONG))
    assert "unknown agent" in message


def test_text_of_half_a_character(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text('{"name": "\\ud83d\\ude00"}')
    assert read_json(path) == {"name": "\U0001f600"}
    path.write_text('{"name": "\\ud800"}')
    assert "cannot be read" in refusal(lambda: read_json(path))
