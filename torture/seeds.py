"""Valid files that damage starts from: made by the program itself, small, the same every time."""

import gzip
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

import jax
import numpy as np

import stubbed
from omniglot.tiny_archives import drawing_files, pack, run_files
from reinstate.cell import EpisodicLSTMCell
from reinstate.cli import main
from reinstate.files import read_json, write_document, write_json
from reinstate.interop.exchange import save_cell
from reinstate.runs.choice_fits import fit_choices, write_example
from reinstate.tasks.drawings import save_embeddings
from reinstate_paper.omniglot.embedder import Convolutions, Embedder, save_embedder
from reinstate_paper.omniglot.images import ARCHIVES, content_sha256

RESULTS = Path(__file__).parents[1] / "results"
RECORDED = {
    "barcode": "barcode-bandits",
    "compositional": "compositional-bandits",
    "two-step": "two-step",
    "maze": "water-maze",
    "omniglot": "omniglot-bandits",
}
PACKAGE = {
    "METADATA": "Metadata-Version: 2.1\nName: theirs\nVersion: 1\n",
    "entry_points.txt": (
        "[reinstate.agents]\ngru = theirs:make\n\n[reinstate.sinks]\nlog = json:dumps\n"
    ),
    "RECORD": "theirs/__init__.py,,\n",
}


def make(folder: Path) -> None:
    """Make all seeds, each in a folder of its name."""
    with _counted_time():
        for name, fill in SEEDS.items():
            place = folder / name
            place.mkdir(parents=True)
            with _within(place):
                fill()


@contextmanager
def _within(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


@contextmanager
def _counted_time() -> Iterator[None]:
    """Let time pass evenly: seconds are recorded, and seeds are to be the same every time."""
    before, steps = time.monotonic, count()
    time.monotonic = lambda: next(steps) / 16
    try:
        yield
    finally:
        time.monotonic = before


def _command(line: str) -> None:
    status = main(line.split())
    assert status == 0, line


def _run() -> None:
    _command("train small --checkpoint-every 1 --out run")
    _command("evaluate run")
    write_json(Path("run/wandb-id.json"), {"id": "0123456789ab"})


def _reproduction() -> None:
    _command("reproduce small --out out")


def _paper() -> None:
    _command("reproduce all --experiments one twin --out out")


def short(value: Any, most: int = 3) -> Any:
    """Cut every list to its first entries."""
    if isinstance(value, dict):
        return {name: short(each, most) for name, each in value.items()}
    return [short(each, most) for each in value[:most]] if isinstance(value, list) else value


def _recorded() -> None:
    """Keep the beginnings of recorded results, and those of another agent beside them."""
    for name, experiment in RECORDED.items():
        found = read_json(RESULTS / experiment / "results.json")
        found = short(found)
        first, *_ = agents = [*found["agents"]]
        found["agents"] = {each: found["agents"][each] for each in agents[:2]}
        write_json(_in_folder(f"{name}/results.json"), found)
        found["agents"] = {"theirs": found["agents"][first]}
        write_json(_in_folder(f"other-{name}/results.json"), found)


def _in_folder(path: str) -> Path:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    return Path(path)


def _arrays() -> None:
    key = jax.random.key(0)
    save_embedder(Path("embedder.safetensors"), Embedder(Convolutions(channels=(2, 4)), key=key))
    vectors = np.ones((3, 2, 4), np.float32)
    save_embeddings(Path("embeddings.safetensors"), vectors)
    cell = EpisodicLSTMCell(3, 2, episodic=True, key=key)
    save_cell("cell.safetensors", cell)


def _tables() -> None:
    write_example("whole.csv")
    lines = Path("whole.csv").read_text().splitlines()
    Path("whole.csv").unlink()
    text = "\n".join(lines[:60]) + "\n"
    Path("choices.csv").write_text(text)
    Path("choices.tsv").write_text(text.replace(",", "\t"))
    Path("choices.csv.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    arrow_csv: Any = import_module("pyarrow.csv")
    parquet: Any = import_module("pyarrow.parquet")
    parquet.write_table(arrow_csv.read_csv("choices.csv"), "choices.parquet")


def _fit() -> None:
    _tables()
    fit_choices(Path("choices.csv"), compare=True).save("fit")
    for path in Path.cwd().glob("choices.*"):
        path.unlink()


def _archives() -> None:
    """Pack small archives; what they hold is taken for the public content from now on."""
    for name, files in (
        ("background", dict([*drawing_files().items()][:20])),
        ("one-shot runs", run_files()),
    ):
        ARCHIVES[name] = ARCHIVES[name]._replace(sha256=content_sha256(files))
        pack(Path("archives", f"{ARCHIVES[name].names[0]}.zip"), files)


def _packages() -> None:
    for name, text in PACKAGE.items():
        _in_folder(f"packages/theirs-1.dist-info/{name}").write_text(text)


def _search() -> None:
    _command(stubbed.LINES["tune"])


def _embedder() -> None:
    """Pretrain; the tests of its card are stand-ins that say nothing, so put one there."""
    _command(stubbed.LINES["pretrain"])
    card = read_json(Path("out/card.json"))
    row = {"way": 5, "shot": 1, "rule": "nearest", "accuracy": 0.5, "standard_error": 0.1}
    write_document(Path("out/card.json"), {**card, "few_shot": [{**row, "kaiser_2017": 0.9}]})


SEEDS: Mapping[str, Callable[[], None]] = {
    "run": _run,
    "reproduction": _reproduction,
    "paper": _paper,
    "results": _recorded,
    "arrays": _arrays,
    "tables": _tables,
    "fit": _fit,
    "archives": _archives,
    "packages": _packages,
    "search": _search,
    "embedder": _embedder,
}
