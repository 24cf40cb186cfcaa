"""The verb `evaluate`: a trained run evaluated with frozen weights."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from reinstate.analysis.results import Scores
from reinstate.choices.model import from_record
from reinstate.cli.shared import Computing, NewFile, RunFolder, shown
from reinstate.cli.tables import print_agents, say, say_next
from reinstate.errors import UserError
from reinstate.files import require_new, write_document
from reinstate.runs import size
from reinstate.runs.card import save_scores
from reinstate.runs.choice_fits import write_choices
from reinstate.runs.evaluator import Evaluator
from reinstate.runs.progress import Reporter
from reinstate.runs.run import find_run, is_shipped, open_run, write_record
from reinstate.settings import Settings
from reinstate.tasks.two_step import EpisodicTwoStep

OwnInt = Annotated[int | None, shown("INT", "the run's own")]


@dataclass(frozen=True, kw_only=True)
class Evaluate(Computing):
    """Evaluate a trained run on fresh tasks, with frozen weights.

    Scores go to RUN/evaluation.json. With other --epochs, --seed or --checkpoint than the
    run's own they are only printed, and written to --out if that is given.

      reinstate evaluate runs/five
      reinstate evaluate runs/five --record steps.npz
      reinstate evaluate runs/five --epochs 1000 --out longer.json
      reinstate evaluate two-step/epl2rl --choices agent.csv
    """

    run: RunFolder
    """A run folder, as `reinstate train` leaves it, or shipped weights: water-maze/epl2rl."""
    epochs: OwnInt = None
    """Epochs that each seed's agent plays with frozen weights."""
    seed: OwnInt = None
    """Where the evaluation's own random numbers start: no training seed may equal it."""
    checkpoint: Annotated[Path | None, shown("FILE", "the last")] = None
    """Which checkpoint of the run."""
    out: NewFile = None
    """Also write the scores to this new file."""
    record: NewFile = None
    """Also write every step (context, exposure, action, reward, gates, …) to this new .npz file."""
    choices: NewFile = None
    """Also write what was chosen in the two-step task to this new .csv file, for fit-choices."""

    def do(self, command: str) -> Scores:
        run = find_run(self.run)
        experiment, agent, own = open_run(run.path)
        settings = self._changed(own)
        for name in ("out", "record", "choices"):
            if path := getattr(self, name):
                require_new(path, f"--{name}")
        if self.choices and not isinstance(settings.task, EpisodicTwoStep):
            raise UserError(f"--choices is for the two-step task: {self.run} plays another")
        self.start()
        size.require_room(settings, agent, trained=False, evaluated=True)
        evaluator = Evaluator(experiment, agent, settings)
        state, is_own = evaluator.load(run, self.checkpoint), self._is_own(own)
        with Reporter().working(f"{agent}: evaluating with frozen weights"):
            scores = evaluator.evaluate_run(run, state) if is_own else evaluator.evaluate(state)
        if self.record or self.choices:
            record = evaluator.record(state)
        if self.record:
            write_record(self.record, record)
        if self.choices:
            seeds = [f"{agent}-{seed}" for seed in settings.seed_range]
            write_choices(self.choices, from_record(record), seeds)
        if is_own and not is_shipped(run):
            save_scores(run, scores)
        if self.out:
            write_document(self.out, {**scores})
        return scores

    def show(self, result: Scores) -> None:
        run = find_run(self.run)
        experiment, agent, own = open_run(run.path)
        print_agents(experiment, {agent: {**result}})
        if self.choices:
            say_next(["reinstate", "fit-choices", self.choices], "see which strategies it follows")
            return
        if is_shipped(run):
            say_next(["reinstate", "watch", experiment.name, self.run], "watch it play")
            return
        if not self._is_own(own):
            say(f"{run.evaluation_path} is kept: it is about the run's own settings")
        say_next(["reinstate", "report", self.run], "make a page of it")

    def _changed(self, own: Settings) -> Settings:
        asked = {name: getattr(self, name) for name in ("epochs", "seed")}
        changes = {name: value for name, value in asked.items() if value is not None}
        return replace(own, evaluation=replace(own.evaluation, **changes))

    def _is_own(self, own: Settings) -> bool:
        """Tell whether the run's own settings and last checkpoint are evaluated."""
        last = find_run(self.run).last_checkpoint()
        is_last = not self.checkpoint or (last is not None and self.checkpoint.samefile(last))
        return is_last and self._changed(own) == own
