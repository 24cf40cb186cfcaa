"""The verb `train`: one agent, several seeds at once, into a run folder."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from tyro.conf import arg

from reinstate.cli.parsing import peek
from reinstate.cli.shared import Training, W, shown
from reinstate.cli.tables import say, say_next
from reinstate.files import locked
from reinstate.runs import size
from reinstate.runs.evaluator import Evaluator
from reinstate.runs.experiment import Experiment
from reinstate.runs.progress import Reporter
from reinstate.runs.provenance import provenance
from reinstate.runs.ranks import joined, read_address
from reinstate.runs.run import find_run, start_run
from reinstate.runs.training import Trained, train


@dataclass(frozen=True, kw_only=True)
class Train(Training[W]):
    """Train one agent in an experiment, several seeds at once, into a run folder.

      reinstate train barcode-bandits
      reinstate train barcode-bandits --agent l2rl --seeds 2 --out runs/l2rl
      reinstate train barcode-bandits --preset paper --task.num-arms 5
      reinstate train barcode-bandits --resume
      reinstate train barcode-bandits --from runs/barcode-bandits-epl2rl --out runs/longer

    The folder gets the settings, one line of metrics per epoch, and checkpoints. Every setting is
    an option, with a default from the experiment's preset: `reinstate train EXPERIMENT
    --help-all` explains them all.
    """

    agent: str
    """Which agent; `reinstate list` describes them."""
    parent: Annotated[Path | None, arg(name="from", metavar="RUN", help_behavior_hint="")] = None
    """Begin with the weights of this run, of as many seeds: a folder, or shipped weights. The
    schedule is that of the new run, which goes to --out."""
    distributed: Annotated[str | None, shown("WHERE", "alone")] = None
    """Be one of several processes that train together: `auto` under Slurm, Open MPI or Kubernetes;
    else HOST:PORT of process 0, the number of this one, and how many there are, as in
    10.0.0.1:1234,0,2. Process 0 alone writes files. A signal to any of them stops all; one that
    dies ends all."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.distributed is not None:
            read_address(self.distributed)

    def do(self, command: str) -> Any:
        self.start(self.devices)
        options = repr(replace(self, distributed=None))
        with joined(self.distributed, f"{provenance()} {options}") as ranks:
            size.require_room(self.settings, self.agent)
            how = {**self.how, "ranks": ranks}
            if ranks.first:
                trained = self._train(how)
            else:
                how["track"] = ()
                train(self.agent, self.settings, None, Reporter(quiet=True), **how)
        if not ranks.first:
            raise SystemExit(0)  # process 0 says the rest
        return {"run": str(self.out), "last": trained.metrics[-1]}

    def _train(self, how: dict[str, Any]) -> Trained:
        with locked(self.out):
            origin: dict[str, Any] = {}
            if self.parent:
                evaluator = Evaluator(self.experiment, self.agent, self.settings)
                how["start"] = evaluator.load(parent := find_run(self.parent))
                origin["parent"] = {"run": str(self.parent), "epoch": parent.last_epoch}
            what = (self.experiment, self.agent, self.settings, self.out, self.resume)
            run = start_run(*what, self.spread, **origin)
            return train(self.agent, self.settings, run, Reporter(), **how)

    def show(self, result: Any) -> None:
        reward = f"{np.mean(result['last']['reward']):{self.experiment.number}}"
        say(f"{reward} reward per episode in the last epoch")
        say_next(["reinstate", "evaluate", self.out], "evaluate it with frozen weights")

    @classmethod
    def defaults(cls, experiment: Experiment, arguments: list[str]) -> dict[str, Any]:
        first = "epl2rl" if "epl2rl" in experiment.agents else experiment.agents[0]
        agent = peek(arguments, "--agent", first)
        return {"agent": agent, "out": Path("runs") / f"{experiment.name}-{agent}"}
