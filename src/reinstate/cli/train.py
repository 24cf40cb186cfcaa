"""The verbs that train: `train` one agent into a run folder, `reproduce` an experiment or all."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from reinstate import devices
from reinstate.analysis.intervals import with_interval
from reinstate.analysis.results import Results, Summary
from reinstate.cli.parsing import peek
from reinstate.cli.shared import Flag, Names, OnExperiment, S, Verb, shown
from reinstate.cli.tables import PER_EPISODE, print_agents, print_checks, print_table, say, say_next
from reinstate.errors import UserError, require_positive
from reinstate.experiments import PAPER, find_experiment
from reinstate.experiments.base import Experiment
from reinstate.report.whole_paper import reproduce_all
from reinstate.runs.progress import Reporter
from reinstate.runs.reproduce import reproduce
from reinstate.runs.run import start_run
from reinstate.runs.sinks import require_sinks
from reinstate.runs.training import train


@dataclass(frozen=True, kw_only=True)
class Training(OnExperiment[S]):
    """What `train` and `reproduce` share."""

    resume: Flag = False
    """Continue what an interrupted call left in --out."""
    checkpoint_every: int = 25
    """Epochs between checkpoints; one is also written when training ends or is interrupted."""
    track: Annotated[tuple[str, ...], shown("NAME …", "none")] = ()
    """Where metrics go besides metrics.jsonl: tensorboard, wandb; `reinstate list` names all."""

    def __post_init__(self) -> None:
        require_positive(checkpoint_every=self.checkpoint_every)
        require_sinks(self.track)


@dataclass(frozen=True, kw_only=True)
class Train(Training[S]):
    """Train one agent in an experiment, several seeds at once, into a run folder.

      reinstate train barcode-bandits
      reinstate train barcode-bandits --agent l2rl --seeds 2 --out runs/l2rl
      reinstate train barcode-bandits --preset paper --task.num-arms 5
      reinstate train barcode-bandits --resume

    The folder gets the settings, one line of metrics per epoch, and checkpoints. Every setting is
    an option, with a default from the experiment's preset: `reinstate train EXPERIMENT --help`
    explains them all.
    """

    agent: str
    """Which agent; `reinstate list` describes them."""

    def do(self, command: str) -> Any:
        devices.use_all_cores()
        run = start_run(self.experiment, self.agent, self.settings, self.out, self.resume)
        every, track = self.checkpoint_every, self.track
        trained = train(self.agent, self.settings, run, Reporter(), every, track)
        return {"run": str(self.out), "last": trained.metrics[-1]}

    def show(self, result: Any) -> None:
        say(f"{np.mean(result['last']['reward']):.2f} reward per episode in the last epoch")
        say_next(["reinstate", "evaluate", self.out], "judge it with frozen weights")

    @classmethod
    def defaults(cls, experiment: Experiment, arguments: list[str]) -> dict[str, Any]:
        first = "epl2rl" if "epl2rl" in experiment.agents else experiment.agents[0]
        agent = peek(arguments, "--agent", first)
        return {"agent": agent, "out": Path("runs") / f"{experiment.name}-{agent}"}


@dataclass(frozen=True, kw_only=True)
class Reproduce(Training[S]):
    """Train an experiment's agents, judge them with frozen weights, and check the paper's claims.

      reinstate reproduce barcode-bandits
      reinstate reproduce barcode-bandits --agents epl2rl l2rl --seeds 2 --out two
      reinstate reproduce barcode-bandits --resume
      reinstate reproduce all

    results.json, figures and a run per agent go to --out. Every setting is an option, with a
    default from the experiment's preset: `reinstate reproduce EXPERIMENT --help` explains them all.
    """

    agents: Names
    """Which agents; `reinstate list` describes them."""

    def do(self, command: str) -> Results:
        _require_names("--agents", self.agents)
        devices.use_all_cores()
        what = (self.experiment, self.preset, self.agents, self.settings, self.out, Reporter())
        how: Any = {n: getattr(self, n) for n in ("resume", "checkpoint_every", "track")}
        return reproduce(*what, command=command, **how)

    def show(self, result: Results) -> None:
        print_agents(self.experiment, result["agents"])
        print_checks(result["checks"])
        seconds = result["seconds"]["total"]
        say(f"{seconds:.0f} s; results.json and training-curves.png are in {self.out}")
        say_next(["reinstate", "report", self.out], "make a page of them")

    @classmethod
    def defaults(cls, experiment: Experiment, arguments: list[str]) -> dict[str, Any]:
        return {"agents": experiment.agents, "out": Path("reproduction") / experiment.name}

    @classmethod
    def words(cls) -> dict[str, str]:
        return {**super().words(), "all": "all experiments of the paper, and one report"}

    @classmethod
    def for_word(cls, word: str, arguments: list[str]) -> tuple[Any, Any]:
        names = tuple(experiment.name for experiment in PAPER)
        return (All, All(experiments=names)) if word == "all" else super().for_word(word, arguments)


@dataclass(frozen=True, kw_only=True)
class All(Verb):
    """Reproduce every experiment of the paper with its preset, and make one report of them.

    Each goes to OUT/EXPERIMENT, as if it had been reproduced alone; then OUT/report.html shows all
    of them and OUT/summary.json has their numbers. After an interruption the same command
    continues: what is finished is not done again.

    Settings of single experiments cannot be changed here, except --preset and --seeds; `reinstate
    reproduce EXPERIMENT` takes them all.
    """

    experiments: Names
    """Which experiments."""
    preset: str = "quick"
    """Where settings come from: quick (a laptop's CPU) or paper (an accelerator)."""
    seeds: Annotated[int | None, shown("INT", "the preset's own")] = None
    """How many agents of each kind are trained."""
    out: Path = Path("reproduction")
    """Folder for everything that is written."""

    def do(self, command: str) -> Summary:
        _require_names("--experiments", self.experiments)
        devices.use_all_cores()
        what = (self.experiments, self.preset, self.out, Reporter())
        return reproduce_all(*what, command=command, seeds=self.seeds)

    def show(self, result: Summary) -> None:
        rows: list[list[str]] = []
        for name, part in result["experiments"].items():
            number = find_experiment(name).number
            for place, (agent, scores) in enumerate(part["agents"].items()):
                share = scores["share_of_ceiling"]
                shares = "" if share is None else f"{share:.1%}"
                reward = with_interval(scores["reward"], number)
                rows.append(["" if place else name, agent, reward, shares])
            rows.append([])
        print_table(PER_EPISODE, ["experiment", "agent"], ["reward [95%]", "of ceiling"], rows)
        for name, part in result["experiments"].items():
            print(name)
            print_checks(part["checks"])
        held, checks, seconds = (result["totals"][n] for n in ("hold", "checks", "seconds"))
        say(f"{held} of {checks} claims hold; {seconds:.0f} s")
        say(f"next: open {self.out / 'report.html'} in a browser")


def _require_names(flag: str, names: tuple[str, ...]) -> None:
    if not names:
        raise UserError(f"{flag} needs at least one name; `reinstate list` has them")
