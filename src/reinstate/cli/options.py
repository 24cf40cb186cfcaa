"""What the verbs of the command take: options as dataclasses, parsed by tyro."""

import contextlib
import io
import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, TypeVar

import tyro

from reinstate.choices.likelihood import PRIOR_SD
from reinstate.errors import UserError, require_positive
from reinstate.evaluation import Evaluation
from reinstate.omniglot.teaching import Pretraining
from reinstate.settings import MAX_SEED, Settings, W

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
class AllOptions:
    """Reproduce every experiment with its preset, and make one report of them all.

    Each goes to OUT/EXPERIMENT, as if it had been reproduced alone; then OUT/report.html shows all
    of them and OUT/summary.json has their numbers. An interrupted call is continued by the same
    command: what is finished is not done again.

    Settings of single experiments cannot be changed here, beyond --preset and --seeds:
    `reinstate reproduce EXPERIMENT` takes them all.
    """

    experiments: tuple[str, ...]
    """Which experiments."""
    preset: str = "quick"
    """Where settings come from: quick (a laptop's CPU) or paper (an accelerator)."""
    seeds: int | None = None
    """How many agents of each kind are trained; by default as many as each preset says."""
    out: Path = Path("reproduction")
    """Folder for all that is written."""
    json: bool = False
    """Print the summary as JSON."""


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


@dataclass(frozen=True)
class FitChoicesOptions:
    """Which strategies explain the choices that people or agents made in the two-step task?

    FILE is a table (CSV, or Parquet with the extra reinstate[parquet]), one row an episode:

      participant   who played: any name or number
      session       within a participant; without this column each has one session
      episode       whole numbers that grow within a session
      cued          1 or true where the cue of an earlier episode is shown again
      cue_episode   the number of that episode, in the same session; empty where not cued
      action        the first-stage choice: any two labels
      state         the second stage reached: any two labels
      reward        0 or 1

    Without cued and cue_episode it is the classic task.

    A logistic regression weighs what choices follow, in uncued and in cued episodes apart:

      IMF, IMB      the previous episode (incremental): its action if rewarded, else the other one
                    (model-free), or the action that commonly leads to the state reached
                    (model-based)
      EMF, EMB      the same of the episode whose cue is shown (episodic)
      bias          the first of the two actions, always
      perseveration the previous action, whatever came of it

    Try it:

      reinstate fit-choices --example choices.csv
      reinstate fit-choices choices.csv
      reinstate fit-choices theirs.csv --columns action=choice1 reward=win --common left=pink
    """

    file: Annotated[Path | None, tyro.conf.Positional, tyro.conf.arg(metavar="FILE")] = None
    """The table."""
    columns: Annotated[tuple[str, ...], tyro.conf.arg(metavar="OURS=THEIRS …")] = ()
    """Columns that have other names in the table, such as action=choice1 reward=win."""
    common: Annotated[tuple[str, ...], tyro.conf.arg(metavar="ACTION=STATE …")] = ()
    """Where an action commonly leads, such as left=pink; by default the labels pair in order."""
    model: Literal["one-back", "learned", "hierarchical"] = "one-back"
    """Hierarchical: people's weights share a group; it needs NumPyro (the extra reinstate[fit])."""
    skip_bad: bool = False
    """Drop rows that make no sense, and say how many; by default they are named and it stops."""
    prior_sd: float = PRIOR_SD
    """Of the weak prior that keeps weights finite where a rule has no exception."""
    seed: int = 0
    """Of the hierarchical sampler, of --example and of --recovery."""
    out: Path | None = None
    """New folder for weights.csv, fit.json and figures; by default choice-fit/ and FILE's name."""
    json: bool = False
    """Print the result as JSON."""
    example: Annotated[Path | None, tyro.conf.arg(metavar="FILE.csv")] = None
    """Instead, write an example of such a table."""
    recovery: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None
    """Instead, fit simulated agents of known weights; how they come back goes to this folder."""

    def __post_init__(self) -> None:
        require_positive(prior_sd=self.prior_sd)
        if not 0 <= self.seed <= MAX_SEED:
            raise UserError(f"seed must lie between 0 and {MAX_SEED}, not {self.seed}")
        instead = [f"--{name}" for name in ("example", "recovery") if getattr(self, name)]
        of_tables = ("file", "columns", "common", "skip_bad", "out")
        idle = [name for name in of_tables if getattr(self, name)]
        if len(instead) > 1 or (instead and idle):
            others = [*instead[1:], *("FILE" if n == "file" else _flag(n) for n in idle)]
            raise UserError(f"{instead[0]} reads no table: leave out {' and '.join(others)}")


@dataclass(frozen=True)
class PretrainOptions:
    """Train the embedder of drawings (Kaiser et al. 2017) on Omniglot's background characters."""

    settings: Annotated[Pretraining, tyro.conf.arg(name="")]
    preset: str
    """Where defaults come from: quick (a CPU), plain (Kaiser's own) or paper (an accelerator)."""
    out: Path
    """Folder for all that is written."""
    images: Path | None = None
    """Where Omniglot's archives or folders lie; by default REINSTATE_OMNIGLOT, or the cache."""
    download: bool = False
    """Fetch the archives that are not there yet, to the same folder."""
    resume: bool = False
    """Continue what an interrupted call left in --out."""
    json: bool = False
    """Print the card (settings, device, accuracies) as JSON."""


def pairs(flag: str, words: tuple[str, ...]) -> dict[str, str]:
    """NAME=VALUE words as a dictionary."""
    found: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not (name and equals and value):
            raise UserError(f"{flag} takes pairs such as a=b, not {word!r}; a FILE comes before it")
        if found.setdefault(name, value) != value:
            raise UserError(f"{flag} gives {name} twice: {found[name]} and {value}")
    return found


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def wants_help(arguments: list[str]) -> bool:
    return "-h" in arguments or "--help" in arguments


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
