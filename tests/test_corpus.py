"""Files that once ended in a traceback, a hang or a message of megabytes: now each is one line.

`python -m torture.fuzz` finds such files; what it found is kept here. The last tests do a little of
what it does.
"""

import copy
import json
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
from reinstate.analysis.verdicts import Region, judge_mean
from reinstate.choices.tables import read_choices
from reinstate.errors import UserError
from reinstate.figures.page import load, page_of
from reinstate.files import write_json
from reinstate.runs import search as searching
from reinstate.runs.candidates import Ranges
from reinstate.runs.checkpoints import load_checkpoint, write_checkpoint
from reinstate.runs.choice_fits import FittedChoices, fit_choices, read_design, read_fit
from reinstate.runs.run import open_run
from reinstate.settings import to_dict
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
def _fit() -> Any:
    """Return a fit of sixty choices of one person, as fit.json has it."""
    draw = np.random.default_rng(0).integers(0, 2, (3, 60))
    names = dict(zip(("action", "state", "reward"), draw.tolist(), strict=True))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("reinstate.runs.provenance.commit", lambda: None)
        found = fit_choices({"participant": ["p"] * 60, **names}, compare=True)
    return json.loads(json.dumps(found.document))


def _read_fit(folder: Path) -> None:
    FittedChoices(read_fit(folder)).summary()
    read_design(folder)


@cache
def _search() -> Any:
    trials = [{**trial, "agents": {"l2rl": SCORE}} for trial in ASKED.new_trials(0)]
    about = dict.fromkeys(("version", "commit", "jax", "preset", "score", "command", "device"), "")
    seconds = {"compile": 1.0, "train": 1.0}
    return {**ASKED.identity(), **about, "trials": trials, "seconds": seconds}


SCORE = {"reward": 1.0, "per_seed": [1.0, 1.0]}
ASKED = searching.Asked(
    BARCODE_BANDITS, "quick", ["l2rl"], TINY, searching.Search(trials=2, ranges=Ranges())
)
CONFIG = {"experiment": "barcode-bandits", "agent": "l2rl", "settings": to_dict(TINY)}
DOCUMENTS: Mapping[str, tuple[Callable[[], Any], Read]] = {  # how it is made, and how it is read
    "fit.json": (_fit, _read_fit),
    "card.json": (
        lambda: json.loads(packaged_file("card.json").read_text()),
        lambda folder: read_card(folder / "card.json"),
    ),
    "search.json": (_search, lambda folder: searching._begun(ASKED, folder)),
    "results.json": (cache(small), lambda folder: page_of(load([folder]))),
    "config.json": (lambda: {"format": 2, "config": CONFIG}, open_run),
}
REFUSED: Mapping[str, Mapping[str, Any]] = {  # what once ended in a traceback, by its place
    "fit.json": {
        "group/uncued/IMF/ci95": ...,
        "rows/0": 7,
        "stay/episodic/ci95": [None],
        "model": "one-back" + LONG * "x",
        "comparison/uncued": [],
        "comparison/uncued/0/model": ...,
        "data/actions": ["0"],
        "data/design": ...,
    },
    "card.json": {"few_shot/0/accuracy": [], "epochs": "7", "one_shot_runs": 3},
    "search.json": {
        "trials/0": 3,
        "trials/0/setting/discount": ...,
        "trials/0/agents": {"l2rl": {}},
    },
    "results.json": {
        "agents/l2rl/reward/per_seed": [[1.0], [2.0, 3.0]],
        "agents/l2rl/reward/per_seed/0": "a",
        "agents/epl2rl/by_exposure": ...,
        "agents/epl2rl/seeds": [1],
    },
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_is_read_and_what_was_found_in_it_is_refused(name: str, tmp_path: Path) -> None:
    make, read = DOCUMENTS[name]
    file = tmp_path / name
    if name != "config.json":  # of a run with weights
        write_json(file, make())
        read(tmp_path)
    for path, value in REFUSED.get(name, {}).items():
        write_json(file, changed(make(), path, value))
        refusal(lambda: read(tmp_path))


ODD: list[Any] = [None, True, -1, 1e308, 2**63, float("nan"), "", "x" * 300, [], {}, [[1], 2], ...]


@contextmanager
def _one_line() -> Iterator[None]:
    try:
        yield
    except UserError as error:
        assert len(str(error).splitlines()) == 1 and len(str(error)) < 4000


@pytest.mark.parametrize("name", DOCUMENTS)
@settings(max_examples=20)
@given(data=st.data())
def test_any_value_anywhere(
    name: str, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    (make, read), folder = DOCUMENTS[name], tmp_path_factory.getbasetemp() / "fuzz"
    document = make()
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    where = data.draw(st.sampled_from([path for path in places(document) if path]))
    value = data.draw(st.sampled_from(ODD) | st.recursive(st.floats() | st.text(), st.lists))
    new = changed(document, "/".join(map(str, where)), value)
    (folder / name).write_text(json.dumps(new))
    with _one_line():
        read(folder)


@given(data=st.data())
def test_any_byte_anywhere(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    folder = tmp_path_factory.getbasetemp() / "bytes"
    folder.mkdir(exist_ok=True)
    path, state = folder / "epoch-00001.safetensors", {"w": np.ones(9, np.float32)}
    write_checkpoint(path, state, 1)
    content = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] = data.draw(st.integers(0, 255))
    cut = data.draw(st.just(len(content)) | st.integers(0, len(content)))
    path.write_bytes(bytes(content[:cut]))
    with _one_line():
        found, _ = load_checkpoint(path, state)
        assert np.array_equal(found["w"], state["w"])


# Files


def test_a_claim_is_about_one_number_per_seed() -> None:
    """Of arrays there would be as many intervals, which no table can print."""
    with pytest.raises(ValueError, match="one number per seed"):
        judge_mean([[1.0, 2.0]] * 5, Region(low=0.0))


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


def test_an_embedder_of_endless_channels(tmp_path: Path) -> None:
    path = tmp_path / "embedder.safetensors"
    path.write_bytes(save({"w": np.zeros(1)}, {embedder.FORMAT: '{"channels": [1e999, 64]}'}))
    assert "has broken settings" in refusal(lambda: embedder.load_embedder(path))
