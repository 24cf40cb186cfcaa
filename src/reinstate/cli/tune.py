"""The verb `tune`: which hyper-parameters suit an experiment, and where its preset stands."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import tyro

from reinstate.cli.shared import OnExperiment, W
from reinstate.cli.tables import print_table, say, say_next
from reinstate.runs.candidates import Candidate, Ranges, as_options, rates_of
from reinstate.runs.experiment import Experiment
from reinstate.runs.progress import Reporter
from reinstate.runs.search import (
    Asked,
    Search,
    SearchDocument,
    agents_of,
    best_for,
    rank_of,
    ranked,
    search,
)

SEEDS = 2  # a search is wide before it is sure
SHOWN = 5  # rows of the table
TRIALS = {"quick": 16, "paper": 64}  # at once: minutes on two cores, or on an accelerator


@dataclass(frozen=True, kw_only=True)
class Tune(OnExperiment[W]):
    """Search learning rate, entropy cost, discount and value cost: many settings at once.

      reinstate tune barcode-bandits
      reinstate tune barcode-bandits --agents l2rl epl2rl --trials 16

    A setting's score is the mean reward per episode over the last 10% of training epochs, mean over
    seeds. The preset's own setting is always trial 0, so that its rank is honest. The settings are
    chosen for the first of --agents, by default plain L2RL, as in the paper; the others are trained
    at the same ones, to see how they do. Where rates fall in training, they fall to the same share
    of their start as the preset's.

    After an interruption the same command continues after the last round that was finished.
    `reinstate tune EXPERIMENT --help` explains every setting.
    """

    agents: Annotated[tuple[str, ...], tyro.conf.arg(aliases=["--agent"], metavar="NAME …")]
    """The agent to search for, then others to train at the same settings."""
    search: Annotated[Search, tyro.conf.arg(name="")] = field(default_factory=Search)

    def do(self, command: str) -> SearchDocument:
        self.start()
        asked = Asked(self.experiment, self.preset, self.agents, self.settings, self.search)
        return search(asked, self.out, Reporter(), command=command)

    def show(self, result: SearchDocument) -> None:
        _print_best(self.experiment, result)
        for agent in agents_of(result["trials"]):
            say(_standing(self.experiment, result, agent))
        best = best_for(result["trials"], result["agent"])
        options: list[str] = []
        if best is None:
            say("no setting stayed finite: lower --ranges.learning-rate")
        else:
            rates = rates_of(Candidate(**best["setting"]), self.settings.learner)
            options = as_options(rates)
            say(f"the best as options: {' '.join(options)}")
        say(f"search.json, search.png and search.svg are in {self.out}")
        line = ["reinstate", "train", self.name, "--preset", self.preset, "--agent", self.agents[0]]
        say_next([*line, *options], "train at the best of these settings")

    @classmethod
    def defaults(cls, experiment: Experiment, arguments: list[str]) -> dict[str, Any]:
        plain = [name for name in ("l2rl", "l2rl-context") if name in experiment.agents]
        agents = tuple(plain[:1]) or experiment.agents
        return {"agents": agents, "out": Path("tuning") / experiment.name}

    @classmethod
    def for_word(cls, word: str, arguments: list[str]) -> tuple[Any, Any]:
        kind, start = super().for_word(word, arguments)
        ranges = Ranges(**start.experiment.ranges)
        trials = Search(trials=TRIALS.get(start.preset, Search.trials), ranges=ranges)
        return kind, replace(start, common=replace(start.common, seeds=SEEDS), search=trials)


def _print_best(experiment: Experiment, document: SearchDocument) -> None:
    """Print the best settings for the first agent, with every agent's reward there."""
    first, agents = document["agent"], agents_of(document["trials"])
    rows = []
    for rank, trial in enumerate(ranked(document["trials"], first)[:SHOWN], 1):
        name = f"{rank} (preset)" if trial["number"] == 0 else str(rank)
        setting = [f"{trial['setting'][name]:.3g}" for name in Candidate._fields]
        scores = [trial["agents"].get(agent) for agent in agents]
        rewards = [_number(experiment, score["reward"]) if score else "" for score in scores]
        rows.append([name, *setting, *rewards])
    seeds = document["settings"]["seeds"]
    title = f"reward per episode late in training, mean of {seeds} seeds, for {first}"
    names = [name.replace("_", " ") for name in Candidate._fields]
    print_table(title, [], ["rank", *names, *agents], rows)


def _standing(experiment: Experiment, document: SearchDocument, agent: str) -> str:
    """Say the preset's rank among an agent's trials, and that of what was chosen for the first."""
    trials = document["trials"]
    order, chosen = ranked(trials, agent), ranked(trials, document["agent"])[0]
    rewards = {trial["number"]: trial["agents"][agent]["reward"] for trial in order}
    parts = [f"best {_number(experiment, rewards[order[0]['number']])}"]
    for name, number in (("preset", 0), ("chosen", chosen["number"])):
        rank = rank_of(trials, agent, number)
        if rank and not (name == "chosen" and rank == 1):
            parts.append(f"the {name} setting ranks {rank}, {_number(experiment, rewards[number])}")
    failed = sum(reward is None for reward in rewards.values())
    parts += [f"{failed} failed"] if failed else []
    return f"{agent}, {len(order)} settings: {'; '.join(parts)}"


def _number(experiment: Experiment, reward: float | None) -> str:
    return "failed" if reward is None else f"{reward:{experiment.number}}"
