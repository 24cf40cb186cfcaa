"""The front door for notebooks and scripts: train, look, evaluate, save, load.

import reinstate
from reinstate.tasks.bandits import BarcodeBandits

trained = reinstate.train("barcode-bandits", "epl2rl", seeds=2, epochs=60)
trained = reinstate.train(BarcodeBandits(num_arms=5), "epl2rl", seeds=2, epochs=60)
trained.rewards                      # (epochs, seeds), while learning
trained.evaluate()["reward"]         # frozen weights, fresh tasks
trained.steps()                      # a table of every step
trained.save("runs/mine")
reinstate.load("runs/mine").figure()
reinstate.load("results/barcode-bandits").checks
reinstate.load("water-maze/epl2rl")  # weights that come with the package
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import jax
import numpy as np

from reinstate.agent import AGENTS, AgentKind, Network
from reinstate.analysis.results import CheckRow, Results, Scores
from reinstate.analysis.verdicts import count_verdicts, in_words
from reinstate.errors import UserError
from reinstate.evaluation import Condition, Record
from reinstate.figures import mpl
from reinstate.figures.learning import training_curves
from reinstate.learner import A2C, TrainState
from reinstate.memory import Memory
from reinstate.runs import size
from reinstate.runs.card import save_scores, write_card
from reinstate.runs.conclusions import read_results
from reinstate.runs.evaluator import Evaluator
from reinstate.runs.experiment import Experiment, experiment_of, find_experiment, usual_settings
from reinstate.runs.loop import Row
from reinstate.runs.progress import Reporter
from reinstate.runs.reproduce import curve_of
from reinstate.runs.run import Run, find_run, open_run, start_run
from reinstate.runs.training import label_of
from reinstate.runs.training import train as train_run
from reinstate.settings import Settings, recorded_settings
from reinstate.tasks.base import World

if TYPE_CHECKING:
    from matplotlib.figure import Figure

T = TypeVar("T")
Table = Any  # a pandas DataFrame or, without pandas, a dict of its columns


def train(
    world: World | str,
    agent: AgentKind = "epl2rl",
    *,
    seeds: int = 1,
    preset: str = "quick",
    epochs: int | None = None,
    lanes: int | None = None,
    network: Network | None = None,
    memory: Memory | None = None,
    learner: A2C | None = None,
    out: str | Path | None = None,
    track: Sequence[str] = (),
    quiet: bool = False,
) -> "TrainedAgent":
    """Train an agent, by its name or any way to make one, in a world or an experiment by its name.

    What is not given comes from the preset of the world's experiment. With `out` the run is kept
    on disk from the start, and a call that was interrupted is continued by the same call; without,
    nothing is written until `save`. `track` names metric sinks, and needs `out`.
    """
    if track and out is None:
        raise UserError("track needs out: sinks write to the folder of a run, or name it")
    if isinstance(world, str):
        experiment = find_experiment(world)
        world = experiment.preset(preset).task
    elif isinstance(world, World):
        kind, usual = type(world), {"quick": usual_settings(world)}
        experiment = experiment_of(kind) or Experiment(kind.__name__, kind, presets=usual)
    else:
        raise UserError(f"train needs a world or the name of an experiment, not {world!r}")
    settings = replace(experiment.preset(preset), task=world, seeds=seeds)
    settings = _changed(settings, network=network, memory=memory, learner=learner)
    settings = replace(settings, learner=_changed(settings.learner, epochs=epochs, lanes=lanes))
    size.require_room(settings, agent)
    reporter = Reporter(quiet=quiet)
    run = None
    if out is not None:
        run = _start_run(experiment, agent, settings, Path(out), resume=True)
    found = train_run(agent, settings, run, reporter, track=track)
    return TrainedAgent(experiment, agent, settings, found.state, found.metrics)


def load(path: str | Path) -> "TrainedAgent | RecordedResults":
    """Load a run that `train` left, results that `reproduce` left, or shipped weights by name.

    Weights that come with the package are called EXPERIMENT/AGENT, as "water-maze/epl2rl".
    """
    path = find_run(path).path
    if not Run(path).exists:
        file = path / "results.json" if path.is_dir() else path
        return RecordedResults(read_results(file), file)
    run, (experiment, agent, settings) = Run(path), open_run(path)
    state = Evaluator(experiment, agent, settings).load(run)
    return TrainedAgent(experiment, agent, settings, state, run.read_metrics())


@dataclass(frozen=True)
class TrainedAgent:
    """An agent with its weights, one set per seed, and how it came by them."""

    experiment: Experiment
    agent: AgentKind
    settings: Settings
    state: TrainState  # every leaf with a leading axis of seeds
    metrics: list[Row]  # one row per epoch

    def __repr__(self) -> str:
        label, world = label_of(self.agent), type(self.settings.task).__name__
        seeds = f"{self.settings.seeds} seed{'s' * (self.settings.seeds > 1)}"
        if not self.metrics:
            return f"TrainedAgent({label} in {world}, {seeds}, trained weights alone)"
        return (
            f"TrainedAgent({label} in {world}, {seeds}, {len(self.metrics)} epochs,"
            f" {np.mean(self.rewards[-1]):{self.experiment.number}} reward per episode in the last)"
        )

    @property
    def rewards(self) -> np.ndarray:
        """Reward per episode while learning, (epochs, seeds)."""
        return np.array([row["reward"] for row in self.metrics])

    @cached_property
    def _evaluator(self) -> Evaluator:
        return Evaluator(self.experiment, self.agent, self.settings)

    def player(self, seed: int = 0) -> Any:
        """Return the agent of one seed, to be called step by step."""
        params = jax.tree.map(lambda leaf: leaf[seed], self.state.params)
        return self._evaluator.learner.agent(params)

    def record(self, world: World | None = None, memory: Memory | None = None) -> Record:
        """Play with frozen weights on fresh tasks; by default as in the experiment's evaluation."""
        usual = self._evaluator.condition
        condition = Condition(world or usual.world, memory or usual.memory)
        return self._evaluator.record(self.state, condition)

    def evaluate(self) -> Scores:
        """Evaluate with frozen weights, as `reinstate evaluate` does."""
        size.require_room(self.settings, self.agent, trained=False, evaluated=True)
        return self._evaluator.evaluate(self.state)

    def figure(self) -> "Figure":
        """Draw reward while learning."""
        if not self.metrics:
            raise UserError("there is no learning curve: these are trained weights alone")
        agent = {"curve": curve_of(self.metrics, self.settings.task.episodes_per_epoch)}
        document: Any = {"agents": {label_of(self.agent): agent}, "reference_lines": {}}
        return mpl.draw(training_curves(document), self.experiment.title)

    def steps(self) -> Table:
        """Return an evaluation, a row for each step that was played.

        What was done and what it was worth; what the agent reports, such as its gates, means over
        units; and the episode whose state came back, with the distance of its key: `retrieved` is
        −1 and `distance` infinite where there was none.
        """
        record = self.record()
        shape = np.shape(record.action)
        seed, epoch, episode, step = np.indices(shape)
        names = "action", "reward", "expected_reward", "best_expected_reward"
        columns = {
            "seed": np.asarray(self.settings.seed_range)[seed],
            **{"epoch": epoch, "episode": episode, "step": step},
            "context": np.broadcast_to(record.context_id[..., None], shape),
            "exposure": np.broadcast_to(record.exposure[..., None], shape),
            **{name: getattr(record, name) for name in names},
            **record.report,
            **{"retrieved": record.retrieved, "distance": record.distance},
        }
        played = np.ones(shape, bool) if record.played is None else np.asarray(record.played)
        table = {name: np.asarray(values)[played] for name, values in columns.items()}
        try:
            from pandas import DataFrame
        except ImportError:
            return table
        return DataFrame(table)

    def save(self, path: str | Path, weights_only: bool = False) -> None:
        """Write a run that `reinstate.load`, `reinstate evaluate` and `report` can read.

        With `weights_only` that is what others need: settings, weights and a card that says what
        they earn, without the state of training, its metrics and the evaluation.
        """
        run = _start_run(self.experiment, self.agent, self.settings, Path(path), resume=False)
        if weights_only:
            run.save_weights(self.state.params, int(np.ravel(self.state.epoch)[0]))
            write_card(run, self.evaluate())
            return
        if self.metrics:
            run.write_metrics(self.metrics)
            run.save_checkpoint(self.state, self.metrics[-1]["epoch"])
        else:
            run.save_weights(self.state.params, int(self.state.epoch))
        save_scores(run, self.evaluate())


@dataclass(frozen=True)
class RecordedResults:
    """Results of a reproduction; `document` is all that results.json holds."""

    document: Results
    path: Path

    def __repr__(self) -> str:
        agents = self.document["agents"].items()
        rewards = [f"{name} {agent['reward']['mean']:.3g}" for name, agent in agents]
        return (
            f"RecordedResults({self.document['experiment']}, {self.document['preset']} preset:"
            f" {', '.join(rewards)}; {in_words(count_verdicts(self.checks))})"
        )

    @property
    def experiment(self) -> Experiment:
        """The experiment that these are results of."""
        return find_experiment(self.document["experiment"])

    @property
    def settings(self) -> Settings:
        """The settings that all its agents share."""
        return recorded_settings(self.experiment.world, self.document["settings"])

    @property
    def checks(self) -> list[CheckRow]:
        """The paper's statements, tested."""
        return self.document["checks"]

    def rewards(self) -> dict[str, np.ndarray]:
        """Return every agent's reward per episode, frozen weights, (seeds,)."""
        agents = self.document["agents"].items()
        return {name: np.array(agent["reward"]["per_seed"]) for name, agent in agents}

    def figure(self, name: str = "training-curves") -> "Figure":
        """Draw one of the experiment's figures, by the name of its file."""
        if name not in self.experiment.charts:
            raise UserError(f"{name!r} is no figure of it: {', '.join(self.experiment.charts)}")
        return mpl.draw(self.experiment.charts[name](self.document), self.experiment.title)


def _changed(settings: T, **given: Any) -> T:
    """Replace what is given."""
    known = {name: value for name, value in given.items() if value is not None}
    return replace(settings, **known)  # type: ignore[type-var]


def _start_run(
    experiment: Experiment, agent: AgentKind, settings: Settings, out: Path, resume: bool
) -> Run:
    """Start a run on disk, if world and agent have names by which a file can bring them back."""
    name = agent if isinstance(agent, str) else AGENTS.name_of(agent)
    known = experiment_of(experiment.world)
    for kind, label, found in (
        ("task", experiment.world.__name__, known),
        ("agent", label_of(agent), name),
    ):
        if found is None:
            raise UserError(
                f"{kind} {label} has no name by which a file could bring it back: call"
                f' reinstate.register("{kind}", NAME, {label}) first'
            )
    return start_run(known or experiment, str(name), settings, out, resume)
