"""Frozen weights → scores: what results.json says of an agent."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from reinstate import devices
from reinstate.agent import AgentKind
from reinstate.analysis.exposures import exposure_scores, familiarity, reward_by_epoch
from reinstate.analysis.memory_map import evaluate_watched, stored_scores
from reinstate.analysis.results import Scores
from reinstate.analysis.verdicts import over_seeds
from reinstate.errors import UserError
from reinstate.evaluation import Condition, Record
from reinstate.learner import TrainState
from reinstate.runs.checkpoints import load_checkpoint, load_weights
from reinstate.runs.experiment import Experiment
from reinstate.runs.run import Run
from reinstate.settings import Settings
from reinstate.tasks.base import World


class Evaluator:
    """Plays and scores one agent of an experiment; each condition is compiled once."""

    def __init__(self, experiment: Experiment, agent: AgentKind, settings: Settings) -> None:
        # Evaluated with the memory it was trained with, which may not be the experiment's.
        self.experiment, self.agent, self.settings = experiment, agent, settings.for_agent(agent)
        self.learner = settings.make_learner(agent)
        self._programs: dict[Condition, Any] = {}

    @property
    def condition(self) -> Condition:
        """The condition under which agents are evaluated: the task's own world for that purpose."""
        return Condition(self.settings.task.for_evaluation(), self.settings.memory)

    def record(self, state: TrainState, condition: Condition | None = None) -> Record:
        """Play frozen weights of all seeds on fresh keys; leaves are (seeds, …) NumPy arrays."""
        return self._play(state, condition or self.condition)[0]

    def _play(self, state: TrainState, condition: Condition) -> tuple[Record, Any]:
        """Return the record, and the sizes of stored states where those are known."""
        if condition not in self._programs:
            self._programs[condition] = self._program(condition)
        seeds = jnp.array(self.settings.seed_range)
        found = self._programs[condition](state.params, seeds)
        played: tuple[Record, Any] = jax.tree.map(np.asarray, found)
        return played

    def _program(self, condition: Condition) -> Any:
        def one_seed(params: Any, seed: jax.Array) -> tuple[Record, Any]:
            player = self.learner.agent(params)
            return evaluate_watched(condition, player, self.settings.evaluation, seed)

        return devices.over_seeds(one_seed, self.settings.seeds)

    def prepare(self) -> None:
        """Compile the condition under which agents are evaluated, before there is one."""
        seeds = jnp.array(self.settings.seed_range)
        init = devices.over_seeds(self.learner.init, self.settings.seeds)
        params = jax.eval_shape(init, seeds).params
        compiled = self._program(self.condition).lower(params, seeds).compile()

        def play(*arguments: Any) -> Any:
            # A compiled program takes arguments where it wants them, wherever they were trained.
            return compiled(*jax.device_put(arguments, compiled.input_shardings[0]))

        self._programs[self.condition] = play

    def scores(self, record: Record) -> Scores:
        """Score a record by what the experiment is about."""
        scores = self.experiment.scores(self.settings.task, record)
        if "r" in record.report:
            steps = True if record.played is None else record.played
            scores["r_gate"] = over_seeds(record.report["r"].mean(axis=(1, 2, 3), where=steps))
        return scores

    def evaluate(self, state: TrainState) -> Scores:
        """Evaluate frozen weights: on fresh tasks, on training tasks if those differ, by probes."""
        settings = self.settings
        record, sizes = self._play(state, self.condition)
        scores = self.scores(record)
        scores["reward_by_epoch"] = reward_by_epoch(record)
        if self.learner.remembers and record.filled is not None and np.all(record.filled >= 0):
            scores["slots_used"] = over_seeds(record.filled[..., -1].mean(axis=1, dtype=float))
        if self.learner.remembers and (known := familiarity(record)):
            scores.setdefault("familiarity", known)  # an experiment may know the truth better
        if sizes is not None:
            scores["stored"] = stored_scores(record, sizes)
        training = Condition(settings.task, settings.memory)
        if training != self.condition:
            scores["on_training_contexts"] = {**self.scores(self.record(state, training))}
        if self.experiment.probes and self.learner.remembers:
            scores["probes"] = {
                name: exposure_scores(self.record(state, condition))["reward"]
                for name, condition in self.experiment.probes(settings).items()
            }
        if self.experiment.elsewhere:
            worlds = self.experiment.elsewhere(settings.task)
            scores["elsewhere"] = {name: self._met(state, world) for name, world in worlds.items()}
        return scores

    def _met(self, state: TrainState, world: World) -> dict[str, Any]:
        """Let frozen weights play another world, as an agent of it that has their memory."""
        once = replace(self.settings.learner, episodes_per_update=1)  # nothing is learned
        settings = replace(self.settings, task=world, learner=once)
        other = Evaluator(self.experiment, self.agent, settings)
        made = jax.eval_shape(other.learner.init, jax.ShapeDtypeStruct((), jnp.int32)).params
        params = jax.tree.unflatten(jax.tree.structure(made), jax.tree.leaves(state.params))
        scores = exposure_scores(other.record(state._replace(params=params)))
        reward = scores["by_exposure"]["reward"]["mean"]
        return {"reward": scores["reward"], "exposures": reward}

    def evaluate_run(self, run: Run, state: TrainState) -> Scores:
        """Evaluate a trained run, and its weights at the experiment's milestones."""
        found, milestones, saved = self.evaluate(state), [], run.milestones()
        wanted = milestone_epochs(self.experiment, self.settings.learner.epochs)
        for epoch in sorted(wanted & saved.keys()):  # a run may have its weights alone
            scores = self.scores(self.record(self.load(run, saved[epoch])))
            milestones.append({"epoch": epoch, **self.experiment.milestone_scores(scores)})
        if milestones:
            found["milestones"] = milestones
        return found

    def load(self, run: Run, checkpoint: Path | None = None) -> TrainState:
        """Load a run's trained state, from its last checkpoint or the file named."""
        file = checkpoint or run.last_checkpoint() or run.weights_path
        if checkpoint is None and not file.exists():
            raise UserError(f"{run.path} has no checkpoint yet: train it first")
        init = devices.over_seeds(self.learner.init, self.settings.seeds)
        template: TrainState = jax.eval_shape(init, jnp.array(self.settings.seed_range))
        if file.parent.name == "milestones" or file == run.weights_path:
            params, epoch = load_weights(file, template.params)
            return TrainState(params, None, jax.random.key(0), jnp.array(epoch))
        state: TrainState = load_checkpoint(file, template)[0]
        return state


def milestone_epochs(experiment: Experiment, epochs: int) -> set[int]:
    """Return the epochs after which agents are evaluated as well, whatever is saved when."""
    return {max(1, round(share * epochs)) for share in experiment.milestones}
