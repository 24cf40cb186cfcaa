"""Every reader of files that may be anybody's: what it reads, and how it is called.

Most are verbs of the command, from the parsed line to the last word printed, with the stand-ins of
`stubbed` for what is slow; the others are functions behind them. Each is called in a folder with
the files of a seed (see `seeds`), of which one or two are damaged.
"""

import importlib
import sys
from collections.abc import Callable, Mapping
from functools import cache, partial
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import stubbed
from reinstate import registry
from reinstate.choices.tables import read_choices
from reinstate.cli import parse
from reinstate.cli.list import List
from reinstate.interop.exchange import load_cell
from reinstate.learner import Learner
from reinstate.runs import sinks
from reinstate.runs.choice_fits import FittedChoices, fit_beside, read_design
from reinstate.runs.evaluator import Evaluator
from reinstate.runs.run import Run, open_run
from reinstate.tasks.drawings import load_embeddings
from reinstate_paper.omniglot import images
from reinstate_paper.omniglot.embedder import load_embedder
from tiny import SILENT

RESULTS = Path(__file__).parents[1] / "results"


class Reader(NamedTuple):
    """One way to read files."""

    seed: str  # the files it starts from
    damaged: tuple[str, ...]  # patterns of those that are damaged
    read: Callable[[], Any]
    writes: tuple[str, ...] = ()  # files and folders that it may change
    share: int = 4  # of the cases


def install() -> None:
    """Put stand-ins in the place of what is slow; settings are still made into learners."""

    def put(owner: Any, name: str, stand_in: Any) -> None:
        if name != "make_learner":
            setattr(owner, name, stand_in)

    stubbed.install(put)
    for place, stand_in in STAND_INS.items():
        module, _, name = place.partition(":")
        owner: Any = importlib.import_module(module)
        for part in name.split(".")[:-1]:
            owner = getattr(owner, part)
        setattr(owner, name.rpartition(".")[2], stand_in)
    Learner.agent = lambda *what: None  # type: ignore[method-assign]
    sys.modules["wandb"] = _wandb()


def nothing(*what: Any, **how: Any) -> None:
    """Stand in for what is of no interest here."""


STAND_INS: Mapping[str, Any] = {
    "reinstate.cli.watch:Watch._episodes": lambda *what: [],
    "reinstate.cli.watch:Watch.show": nothing,
}


def _wandb() -> Any:
    """Stand in for Weights & Biases, which would reach for the network."""
    module: Any = ModuleType("wandb")
    module.__spec__ = ModuleSpec("wandb", None)
    module.Settings = nothing
    module.init = lambda **how: SimpleNamespace(log=nothing, finish=nothing)
    return module


@cache
def _options(line: str) -> Any:
    return parse(line.split())


def verb(line: str) -> Callable[[], Any]:
    """Return a call of a verb, as the command does it after parsing."""

    def call() -> None:
        options = _options(line)
        options.show(options.do(f"reinstate {line}"))

    return call


def _load() -> None:
    """Load all weights of a run, as `evaluate`, `watch` and `figure` do before they play."""
    run = Run(Path("run"))
    evaluator = Evaluator(*open_run(run.path))
    evaluator.load(run)
    for file in run.milestones().values():
        evaluator.load(run, file)


def _fit() -> None:
    """Read a fit as one beside another, draw it, print it, and take its design."""
    found = fit_beside(Path("fit"), "one-back", {})
    found.put_beside("again", FittedChoices(found.document))
    found.save("out")
    found.summary()
    read_design(Path("fit"))


def _drawings() -> None:
    images.load_drawings("background", Path("archives"))
    images.load_one_shot_runs(Path("archives"))


_entry_points = registry.entry_points_of_others  # before a stand-in takes its place


def _list() -> None:
    """List what packages in a folder add."""
    modules: list[Any] = [registry, importlib.import_module("reinstate.cli.list")]
    path, known = sys.path, {kind: dict(names) for kind, names in registry._registered.items()}
    before = [module.entry_points_of_others for module in modules]
    try:
        sys.path = [str(Path("packages").resolve())]
        for module in modules:
            module.entry_points_of_others = _entry_points
        options = List()
        options.show(options.do("reinstate list"))
    finally:
        sys.path = path
        registry._registered.update(known)
        for module, plain in zip(modules, before, strict=True):
            module.entry_points_of_others = plain


def _sink() -> None:
    sinks.Sinks(["wandb"], Run(Path("run")), "label", 0, SILENT).close()


RUN, OUT = ("run/**/*",), ("out",)
RESUMED = "train small --checkpoint-every 1 --out run --resume"
TABLES = ("choices.csv", "choices.tsv", "choices.csv.gz", "choices.parquet")

RUNS = {
    "evaluate": Reader("run", RUN, verb("evaluate run"), ("run/evaluation.json",), 6),
    "watch": Reader("run", RUN, verb("watch small run"), share=3),
    "load a run": Reader("run", RUN, _load, share=10),
    "report of a run": Reader("run", RUN, verb("report run"), ("report.html",), 8),
    "train --resume": Reader("run", RUN, verb(RESUMED), ("run",)),
    "wandb-id": Reader(
        "run", ("run/wandb-id.json", "run/config.json"), _sink, ("run/wandb-id.json",), 2
    ),
    "reproduce --resume": Reader(
        "reproduction",
        ("out/*.json", "out/*/*.json*"),
        verb("reproduce small --out out --resume"),
        OUT,
        3,
    ),
    "reproduce all": Reader(
        "paper",
        ("out/*.json", "out/*.html", "out/*/*.json"),
        verb("reproduce all --experiments one twin --out out"),
        OUT,
        3,
    ),
    "tune": Reader("search", ("out/search.json",), verb(stubbed.LINES["tune"]), OUT),
    "pretrain --resume": Reader(
        "embedder",
        ("out/*.json*", "out/checkpoints/*"),
        verb(f"{stubbed.LINES['pretrain']} --resume"),
        OUT,
    ),
}
FILES = {
    "embedder": Reader(
        "arrays", ("embedder.*",), lambda: load_embedder(Path("embedder.safetensors"))
    ),
    "embeddings": Reader(
        "arrays", ("embeddings.*",), lambda: load_embeddings(Path("embeddings.safetensors"))
    ),
    "cell": Reader("arrays", ("cell.*",), lambda: load_cell("cell.safetensors")),
    "zip": Reader("archives", ("archives/*.zip",), _drawings, (), 6),
    "list": Reader("packages", ("packages/*/*",), _list, share=2),
    **{
        f"table {path.partition('.')[2]}": Reader(
            "tables", (path,), partial(read_choices, Path(path)), share=10
        )
        for path in TABLES
    },
    "table, skipping": Reader(
        "tables", TABLES[:1], partial(read_choices, Path("choices.csv"), skip_bad=True)
    ),
    "fit": Reader("fit", ("fit/fit.json",), _fit, OUT, 8),
    "fit-choices": Reader(
        "tables", TABLES[:1], verb("fit-choices choices.csv --skip-bad --out out"), OUT, 2
    ),
}


def _of_results(name: str) -> dict[str, Reader]:
    """Return the readers of an experiment's recorded results."""
    place = (f"{name}/results.json",)
    return {
        f"report {name}": Reader("results", place, verb(f"report {name}"), ("report.html",)),
        f"together {name}": Reader(
            "results", place, verb(f"report {name} other-{name}"), ("report.html",), 2
        ),
    }


READERS: Mapping[str, Reader] = {
    **RUNS,
    **FILES,
    **_of_results("barcode"),
    **_of_results("omniglot"),
    **_of_results("compositional"),
    **_of_results("maze"),
    **_of_results("two-step"),
}
