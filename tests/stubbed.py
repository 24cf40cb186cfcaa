"""The command with stand-ins for all that is slow: learning, judging, drawing, asking git.

What is left is what a command does to files. Stand-ins compute in NumPy, exactly, and carry their
state from epoch to epoch, so that a run which is continued wrongly ends with other bits. JAX is not
started, so that a process can be forked.
"""

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from reinstate import registry
from reinstate.analysis.verdicts import over_seeds
from reinstate.choices.fits import fit_table
from reinstate.devices import Division
from reinstate.figures.learning import training_curves
from reinstate.figures.markup import tag
from reinstate.files import write_arrays, write_atomically
from reinstate.learner import EpochMetrics, TrainState
from reinstate.runs.choice_fits import write_example
from reinstate.runs.experiment import no_checks
from reinstate_paper.barcode_bandits import BARCODE_BANDITS
from reinstate_paper.omniglot.teaching import EmbedderMetrics, State
from tiny import TINY

EPOCHS = 3

# States of NumPy's arrays, which checkers of types would not have.
NumPyState: Any = TrainState
NumPyTeacherState: Any = State
NumPyTeacherMetrics: Any = EmbedderMetrics

SMALL = replace(
    BARCODE_BANDITS,
    name="small",
    agents=("epl2rl", "l2rl"),
    presets={"quick": replace(TINY, learner=replace(TINY.learner, epochs=EPOCHS))},
    optimum=None,
    baselines=lambda settings: {},
    checks=no_checks,
    milestones=(0.5, 1.0),
    charts={"training-curves": training_curves},
)
ONE = replace(SMALL, agents=("epl2rl",))
EXPERIMENTS = {"small": SMALL, "one": replace(ONE, name="one"), "twin": replace(ONE, name="twin")}

# Whatever these write goes to the folder `out`.
LINES = {
    "train": "train small --checkpoint-every 1 --out out",
    "reproduce": "reproduce small --out out",
    "reproduce all": "reproduce all --experiments one twin --out out",
    "tune": "tune small --agents l2rl epl2rl --trials 2 --rounds 2 --out out",
    "pretrain": "pretrain omniglot --epochs 3 --characters 4 --showings 2 --batch 2 --out out",
    "fit-choices": "fit-choices choices.csv --out out",
    "report": "report results --out out/report.html",
}


def prepare(folder: Path, main: Callable[[list[str]], int]) -> None:
    """Write what commands read: a table of choices and results of a reproduction."""
    write_example(folder / "choices.csv")
    assert main(["reproduce", "small", "--out", "results"]) == 0


def install(set_attribute: Callable[[Any, str, Any], Any] = setattr) -> None:
    """Put all stand-ins in their places; a `monkeypatch.setattr` takes them away again."""
    for place, stand_in in STAND_INS.items():
        module, _, name = place.rpartition(":")
        owner: Any = import_module(module.partition(":")[0])
        for part in module.split(":")[1:]:
            owner = getattr(owner, part)
        set_attribute(owner, name, stand_in)
    known = {**EXPERIMENTS, **registry._registered["experiment"]}
    set_attribute(registry, "_registered", {**registry._registered, "experiment": known})


class Learner:
    """In place of a learner: what is asked of it."""

    steps_per_epoch, remembers = 12, True

    def __init__(self, settings: Any, agent: Any) -> None:
        self.settings = settings.learner
        self.offset = np.float32(self.settings.lanes + len(str(agent)) / 8)

    def init(self) -> None:
        """Be named: `Program` has the act."""

    def train_epoch(self) -> None:
        """Be named: `Program` has the act."""


class Program:
    """In place of a compiled function of one seed: its stand-in for all seeds at once."""

    def __init__(self, function: Any, num_seeds: int = 1, *where: Any, **how: Any) -> None:
        function = getattr(function, "func", function)  # of a `partial`
        self.act, self.num = ACTS.get(function.__name__, function), num_seeds
        owner = getattr(function, "__self__", None)  # a learner, or what has one
        self.offset = getattr(getattr(owner, "learner", owner), "offset", 0)

    def lower(self, *arguments: Any) -> "Program":
        return self

    def compile(self) -> "Program":
        return self

    def __call__(self, *arguments: Any) -> Any:
        return self.act(self, *arguments)


def _init(program: Program, *seeds: Any) -> Any:
    num = program.num
    weights = {"w": np.arange(3 * num, dtype=np.float32).reshape(num, 3)}
    moments = {"m": np.ones((num, 3), np.float32)}
    return NumPyState(weights, moments, np.zeros((num, 2), np.uint32), np.zeros(num, np.int32))


def _train_epoch(program: Program, *arguments: Any) -> Any:
    *rates, state = arguments
    epoch = np.asarray(state.epoch) + 1
    moments = np.float32(0.9) * np.asarray(state.opt_state["m"]) + epoch[:, None].astype(np.float32)
    weights = np.asarray(state.params["w"]) + np.float32(0.1) * moments
    reward = weights.mean(axis=1) + program.offset
    if rates:  # of a search
        reward -= np.asarray(rates[0].learning_rate)
    new = NumPyState({"w": weights}, {"m": moments}, np.asarray(state.key), epoch)
    return new, EpochMetrics(reward, reward, reward, reward, np.isfinite(reward))


ACTS = {"init": _init, "train_epoch": _train_epoch}


def _record(self: Any, state: TrainState, condition: Any = None) -> Any:
    return np.asarray(state.params["w"]).mean(axis=1)


def _scores(self: Any, record: Any) -> Any:
    return {"reward": over_seeds(record)}


def _verdict(self: Any, state: TrainState) -> Any:
    return _scores(self, _record(self, state))


def _save_figure(drawings: Any, stem: Path, title: str = "") -> None:
    for kind in ("png", "svg"):
        write_atomically(stem.with_suffix(f".{kind}"), f"{len(drawings)} drawings\n".encode())


def _fit_table(table: Any, *how: Any) -> Any:
    if how not in _FITS:
        _FITS[how] = fit_table(table, *how)
    return _FITS[how]


_FITS: dict[Any, Any] = {}


def _save_array(path: Path, array: Any) -> None:
    write_arrays(path, {"w": np.asarray(array)})


def _teacher_init(program: Program) -> Any:
    weights = np.arange(4, dtype=np.float32)
    return NumPyTeacherState(
        weights, weights, weights, np.zeros(2, np.uint32), np.zeros((), np.int32)
    )


def _teacher_epoch(program: Program, state: Any, images: Any) -> Any:
    params = np.asarray(state.params) * np.float32(1.1)
    average = np.float32(0.9) * np.asarray(state.average) + np.float32(0.1) * params
    epoch = np.asarray(state.epoch) + np.int32(1)
    new = NumPyTeacherState(
        params, average, np.asarray(state.opt_state), np.asarray(state.key), epoch
    )
    return new, NumPyTeacherMetrics(params.sum(), np.float32(0.5), np.bool_(True))


class Teacher:
    """In place of a teacher of embedders: what is asked of it."""

    def __init__(self, settings: Any) -> None:
        self.settings = settings

    def embedder(self, weights: Any) -> Any:
        return np.asarray(weights)

    def init(self) -> None:
        """Be named: `_teacher_program` has the act."""

    def train_epoch(self) -> None:
        """Be named: `_teacher_program` has the act."""


def _teacher_program(function: Any) -> Program:
    made = Program(function)
    made.act = {"init": _teacher_init, "train_epoch": _teacher_epoch}[function.__name__]
    return made


def _describe() -> str:
    return "stand-in × 1"


_JAX = SimpleNamespace(
    eval_shape=lambda function, *arguments: function(*arguments),
    block_until_ready=lambda value: value,
    random=SimpleNamespace(key=lambda seed: np.zeros(2, np.uint32)),
)
_PRETRAINING = "reinstate_paper.omniglot.pretraining"
_ACCURACY = SimpleNamespace(mean=0.5, error=0.1)
_DRAWINGS = np.zeros((4, 4, 28, 28), np.uint8)
STAND_INS: dict[str, Any] = {
    "reinstate.registry:entry_points_of_others": lambda: [],
    "reinstate.settings:Settings:make_learner": lambda self, agent: Learner(self, agent),
    "reinstate.runs.size:require_room": lambda *what, **how: None,
    "reinstate.devices:divide_cpu": lambda *_: None,
    "reinstate.devices:describe": _describe,
    "reinstate_paper.omniglot.pretraining:describe": _describe,
    "reinstate.runs.loop:jax": _JAX,
    "reinstate.runs.evaluator:jax": _JAX,
    "reinstate.runs.evaluator:jnp": np,
    "reinstate.runs.training:jnp": np,
    "reinstate.runs.candidates:jnp": np,
    "reinstate.runs.checkpoints:typed": lambda array, leaf: array,
    "reinstate.devices:over_seeds": Program,
    "reinstate.devices:Spread:divide": lambda self, seeds, lanes: Division(1, seeds),
    "reinstate.devices:Spread:describe": lambda self, seeds, lanes: _describe(),
    "reinstate.devices:Spread:mesh": lambda self, division: SimpleNamespace(is_multi_process=False),
    "reinstate.runs.training:jax": _JAX,
    "reinstate.runs.training:over_mesh": Program,
    "reinstate.runs.candidates:over_seeds": Program,
    "reinstate.runs.candidates:placed": lambda arrays, num: arrays,
    "reinstate.runs.evaluator:Evaluator:prepare": lambda self: None,
    "reinstate.runs.evaluator:Evaluator:record": _record,
    "reinstate.runs.evaluator:Evaluator:scores": _scores,
    "reinstate.runs.evaluator:Evaluator:evaluate": _verdict,
    "reinstate.runs.provenance:commit": lambda: "0" * 40,
    "reinstate.runs.provenance:version": lambda package: "0",
    "reinstate.runs.choice_fits:fit_table": _fit_table,
    "reinstate.figures.mpl:save": _save_figure,
    "reinstate.figures.page.charts:draw": lambda chart, ident: tag("svg", chart.caption, id=ident),
    "reinstate_paper.pretrain:load_drawings": lambda *where, **how: _DRAWINGS,
    "reinstate_paper.pretrain:load_one_shot_runs": lambda *where: [],
    f"{_PRETRAINING}:jax": SimpleNamespace(jit=_teacher_program),
    f"{_PRETRAINING}:jnp": np,
    f"{_PRETRAINING}:Teacher": Teacher,
    f"{_PRETRAINING}:rounded": lambda embedder: embedder,
    f"{_PRETRAINING}:save_embedder": _save_array,
    f"{_PRETRAINING}:save_embeddings": _save_array,
    f"{_PRETRAINING}:load_embeddings": lambda path: path,
    f"{_PRETRAINING}:embed": lambda embedder, images: embedder,
    f"{_PRETRAINING}:table": lambda *test: [],
    f"{_PRETRAINING}:one_shot_runs_accuracy": lambda *test: _ACCURACY,
    f"{_PRETRAINING}:accuracy": lambda *test: _ACCURACY,
    f"{_PRETRAINING}:pixels": lambda images: images,
}
