"""Every reader of files that may be anybody's: the files it starts from, and how it is called.

Most are verbs of the command, from the parsed line to the last word printed, with the stand-ins of
`stubbed` for what is slow; the others are functions behind them. Files are made by the program
itself, small, the same every time.
"""

import gzip
import importlib
import os
from collections.abc import Callable, Mapping
from contextlib import chdir
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

import stubbed
from omniglot.tiny_archives import drawing_files, pack
from reinstate.cell import EpisodicLSTMCell
from reinstate.choices.tables import read_choices
from reinstate.cli import main, parse
from reinstate.files import read_json, write_json
from reinstate.interop.exchange import load_cell, save_cell
from reinstate.learner import Learner
from reinstate.runs.choice_fits import (
    FittedChoices,
    fit_beside,
    fit_choices,
    read_design,
    write_example,
)
from reinstate.runs.evaluator import Evaluator
from reinstate.runs.experiment import find_experiment
from reinstate.runs.run import Run, open_run
from reinstate.tasks.drawings import load_embeddings, save_embeddings
from reinstate_paper import PAPER_EXPERIMENTS
from reinstate_paper.omniglot import images
from reinstate_paper.omniglot.embedder import (
    Convolutions,
    Embedder,
    load_embedder,
    save_embedder,
)

RESULTS = Path(__file__).parents[1] / "results"
RESUMED = "train small --checkpoint-every 1 --out run --resume"


class Reader(NamedTuple):
    """One way to read files."""

    seed: str  # the files it starts from
    damaged: str  # a pattern of those that are damaged
    read: Callable[[], Any]


def install() -> None:
    """Put stand-ins in the place of what is slow; settings are still made into learners."""

    def put(owner: Any, name: str, stand_in: Any) -> None:
        if name != "make_learner":
            setattr(owner, name, stand_in)

    jax.config.update("jax_enable_compilation_cache", False)  # whose files are no reader's
    for name in PAPER_EXPERIMENTS:
        find_experiment(name)  # before other packages' are out of sight
    stubbed.install(put)
    watch: Any = importlib.import_module("reinstate.cli.watch")
    watch.watching.exposures_of = lambda *what: []
    watch.Watch.show = lambda *what: None
    Learner.agent = lambda *what: None  # type: ignore[method-assign]


def make(folder: Path) -> None:
    """Make the files of all seeds, each in a folder of its name."""
    for name, fill in SEEDS.items():
        (folder / name).mkdir(parents=True)
        with chdir(folder / name):
            fill()


def _command(line: str) -> None:
    assert main(line.split()) == 0, line


def _run() -> None:
    _command(RESUMED.replace(" --resume", ""))
    _command("evaluate run")


KEPT = 4


def _short(value: Any) -> Any:
    """Cut every list to its first entries, but not one of the four stay probabilities."""
    if isinstance(value, dict):
        return {name: _short(each) for name, each in value.items()}
    return [_short(each) for each in value[:KEPT]] if isinstance(value, list) else value


def _recorded() -> None:
    for name in PAPER_EXPERIMENTS:
        Path(name).mkdir()
        write_json(Path(name, "results.json"), _short(read_json(RESULTS / name / "results.json")))


def _arrays() -> None:
    key = jax.random.key(0)
    save_embedder(Path("embedder.safetensors"), Embedder(Convolutions(channels=(2, 4)), key=key))
    save_embeddings(Path("embeddings.safetensors"), np.ones((3, 2, 4), np.float32))
    save_cell("cell.safetensors", EpisodicLSTMCell(3, 2, episodic=True, key=key))


def _tables() -> None:
    write_example("whole.csv")
    text = "".join(Path("whole.csv").read_text().splitlines(keepends=True)[:60])
    os.remove("whole.csv")
    Path("choices.csv").write_text(text)
    Path("choices.tsv").write_text(text.replace(",", "\t"))
    Path("choices.csv.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    arrow, parquet = map(importlib.import_module, ("pyarrow.csv", "pyarrow.parquet"))
    parquet.write_table(arrow.read_csv("choices.csv"), "choices.parquet")


def _fit() -> None:
    _tables()
    fit_choices(Path("choices.csv"), compare=True).save("fit")


def _archive() -> None:
    """Pack a small archive; what it holds is taken for the public content from now on."""
    files, known = dict([*drawing_files().items()][:20]), images.ARCHIVES["background"]
    images.ARCHIVES["background"] = known._replace(sha256=images.content_sha256(files))
    pack(Path("images_background.zip"), files)


SEEDS: Mapping[str, Callable[[], None]] = {
    "run": _run,
    "reproduction": partial(_command, stubbed.LINES["reproduce"]),
    "results": _recorded,
    "arrays": _arrays,
    "tables": _tables,
    "fit": _fit,
    "archive": _archive,
    "search": partial(_command, stubbed.LINES["tune"]),
    "embedder": partial(_command, stubbed.LINES["pretrain"]),
}


@cache
def _options(line: str) -> Any:
    return parse(line.split())


def _verb(line: str) -> None:
    """Call a verb as the command does after parsing."""
    options = _options(line)
    options.show(options.do(f"reinstate {line}"))


def _load() -> None:
    """Load all weights of a run, as `evaluate`, `watch` and `figure` do before they play."""
    run = Run(Path("run"))
    evaluator = Evaluator(*open_run(run.path))
    evaluator.load(run)
    for file in run.milestones().values():
        evaluator.load(run, file)


def _read_fit() -> None:
    """Read a fit as one beside another, draw it, print it, and take its design."""
    found = fit_beside(Path("fit"), "one-back", {})
    found.put_beside("again", FittedChoices(found.document))
    found.save("out")
    found.summary()
    read_design(Path("fit"))


def _verbs(lines: Mapping[str, tuple[str, str]]) -> dict[str, Reader]:
    return {line: Reader(*files, partial(_verb, line)) for line, files in lines.items()}


READERS: Mapping[str, Reader] = {
    **_verbs(
        {
            "evaluate run": ("run", "run/**/*"),
            "watch small run": ("run", "run/**/*"),
            "report run": ("run", "run/**/*"),
            RESUMED: ("run", "run/**/*"),
            "reproduce small --out out --resume": ("reproduction", "out/**/*.json*"),
            stubbed.LINES["tune"]: ("search", "out/search.json"),
            f"{stubbed.LINES['pretrain']} --resume": ("embedder", "out/**/*"),
            "fit-choices choices.csv --skip-bad --out out": ("tables", "choices.csv"),
            **{f"report {name}": ("results", f"{name}/results.json") for name in PAPER_EXPERIMENTS},
        }
    ),
    "load a run": Reader("run", "run/**/*", _load),
    "fit": Reader("fit", "fit/fit.json", _read_fit),
    "zip": Reader("archive", "*.zip", partial(images.load_drawings, "background", Path())),
    **{
        name: Reader("arrays", f"{name}.*", partial(load, Path(f"{name}.safetensors")))
        for name, load in (
            ("embedder", load_embedder),
            ("embeddings", load_embeddings),
            ("cell", load_cell),
        )
    },
    **{
        f"table {ending}": Reader(
            "tables", f"choices.{ending}", partial(read_choices, Path(f"choices.{ending}"))
        )
        for ending in ("csv", "tsv", "csv.gz", "parquet")
    },
}
