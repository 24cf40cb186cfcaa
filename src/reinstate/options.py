"""What the verbs of the command take: options as dataclasses, parsed by tyro."""

import contextlib
import io
import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

import tyro

from reinstate.errors import UserError, require_positive
from reinstate.evaluation import Evaluation
from reinstate.settings import Settings, W

T = TypeVar("T")


@dataclass(frozen=True)
class ListOptions:
    """The experiments, agents and presets there are."""

    json: bool = False
    """Print them as JSON."""


@dataclass(frozen=True)
class Options(Generic[W]):
    """What `train` and `reproduce` share; their defaults depend on the experiment."""

    settings: Annotated[Settings[W], tyro.conf.arg(name="")]
    preset: str
    """Where defaults come from: quick (a laptop's CPU) or paper (an accelerator)."""
    out: Path
    """Folder for all that is written."""
    resume: bool = False
    """Continue what an interrupted call left in --out."""
    checkpoint_every: int = 25
    """Epochs between checkpoints; one is also written when training ends or is interrupted."""
    json: bool = False
    """Print the result as JSON."""

    def __post_init__(self) -> None:
        require_positive(checkpoint_every=self.checkpoint_every)


@dataclass(frozen=True)
class TrainOptions(Options[W]):
    """Train one agent, several seeds at once, into a run folder."""

    agent: str = "epl2rl"
    """Which agent; `reinstate list` describes them."""


@dataclass(frozen=True)
class ReproduceOptions(Options[W]):
    """Train an experiment's agents, judge them with frozen weights, draw the figure."""

    agents: tuple[str, ...] = ()
    """Which agents; by default those the paper shows."""


@dataclass(frozen=True)
class EvaluateOptions:
    """Judge a trained run on fresh tasks, with frozen weights; writes RUN/evaluation.json."""

    evaluation: Annotated[Evaluation, tyro.conf.arg(name="")]
    checkpoint: Path | None = None
    """A checkpoint of the run; by default its last."""
    record: Path | None = None
    """Also write every step (context, exposure, action, reward, gates, …) to this .npz file."""
    json: bool = False
    """Print the result as JSON."""


@dataclass(frozen=True)
class WatchOptions:
    """Replay an episode of a trained water-maze run: the grid, the goal, the memory, the r-gate."""

    exposure: int = 0
    """Which exposure to a context; 0 shows the first and then the second of the same context."""
    seed: int = 0
    """Which of the run's seeds."""
    speed: float = 4.0
    """Steps a second, in a terminal; without one all frames are printed at once."""
    svg: Path | None = None
    """Write an animated SVG to this file instead."""

    def __post_init__(self) -> None:
        require_positive(speed=self.speed)
        if self.exposure < 0:
            raise UserError(f"exposure must be 1 or more, or 0 for both, not {self.exposure}")


@dataclass(frozen=True)
class OptimumOptions(Generic[T]):
    """The best that is possible, exactly, for any settings of the task."""

    task: T
    json: bool = False
    """Print the values as JSON."""


def peek(arguments: list[str], flag: str, default: str) -> str:
    """A flag's value before the rest can be parsed: it decides what the other defaults are."""
    value = default
    for this, following in pairwise([*arguments, default]):
        if this == flag:
            value = following
        elif this.startswith(f"{flag}="):
            value = this.removeprefix(f"{flag}=")
    return value


def parse(options: Any, arguments: list[str], default: Any, program: str) -> Any:
    """tyro's parser, with its boxed errors turned into one line."""
    errors = io.StringIO()
    try:
        with contextlib.redirect_stderr(errors):
            return tyro.cli(options, args=arguments, default=default, prog=program)
    except SystemExit as stop:
        if stop.code in (0, None):
            raise
        raise UserError(f"{one_line(errors.getvalue())} (see {program} --help)") from None


def one_line(box: str) -> str:
    """The message in one of tyro's error boxes, with its suggestion if it has one."""
    lines = [re.sub(r"[│╭╰╮╯]", "", line).strip() for line in box.splitlines()]
    sections = re.split(r"(?m)^─+$", "\n".join(lines[1:-1]))
    message = " ".join(sections[0].split())
    if "Perhaps you meant" in box:
        message += f"; did you mean {sections[1].split(':', 1)[1].split()[0].rstrip(',')}?"
    return message
