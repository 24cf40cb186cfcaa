"""What tables are made of, and the names that tables.toml may use: rows, and words in cells."""

import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
from scipy import stats

from reinstate.agent import AGENTS
from reinstate.analysis.verdicts import ALPHA, holm, tolerance
from reinstate.analysis.verdicts import over_seeds as over_seeds
from reinstate.analysis.verdicts import with_interval as with_interval
from reinstate.choices.model import STRATEGIES as STRATEGIES
from reinstate.figures.style import label as label
from reinstate.files import read_json
from reinstate.rivals.base import num_weights
from reinstate.rollout import start_epoch
from reinstate.runs.experiment import EXPERIMENTS
from reinstate.runs.search import ranked as ranked
from reinstate.runs.size import bytes_of
from reinstate.settings import Settings, recorded_settings
from reinstate_paper.against_rivals import kept
from reinstate_paper.claims import RECOGNISING as RECOGNISING
from reinstate_paper.claims import SHARES as SHARES
from reinstate_paper.claims import does_as_well
from reinstate_paper.claims import lead as lead
from reinstate_paper.margins import MARGINS as MARGINS
from reinstate_paper.noisy_barcodes import LEARNED, shares

RESULTS = Path(__file__).parents[2] / "results"
NBSP = "\N{NO-BREAK SPACE}"

NAME = re.compile("|".join(EXPERIMENTS))
SHARED = {"permutation": "shared arms"}
RECOGNITION = {"paper": "epL2RL (reward)", "recognition": "epL2RL+Recognition"}

Record = Mapping[str, Any]
Rows = list[dict[str, str]]


def markdown(rows: Rows, right: bool = False) -> str:
    """Write a table; what is behind the first column may stand on the right."""
    rule = ["---", *["--:" if right else "---"] * (len(rows[0]) - 1)]
    lines = [[*rows[0]], rule, *([*row.values()] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def repeatable(command: str) -> str:
    """Strip from a recorded command where its files went, and that it was continued."""
    words = shlex.split(command)
    if "--out" in words:
        at = words.index("--out")
        del words[at : at + 2]
    return shlex.join(word for word in words if word != "--resume")


def once(rows: Rows) -> Rows:
    """Leave out a first cell that repeats the one above."""
    first, above, kept = next(iter(rows[0])), "", []
    for row in rows:
        kept.append(row | {first: ""} if row[first] == above else row)
        above = row[first]
    return kept


def shown(experiment: str, least: int = 2) -> str:
    """Return the format of an experiment's rewards, with so many decimals at least."""
    number = EXPERIMENTS[experiment].number
    return number.replace("2", "3") if least == 3 else number


def rate(found: Record) -> str:
    return f"{found['median']:,.0f} [{', '.join(f'{each:,.0f}' for each in found['quartiles'])}]"


def times(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def spent(seconds: float) -> str:
    """Write seconds in the unit that suits them."""
    unit, size = ("ms", 1e-3) if seconds >= 1e-3 else ("µs", 1e-6)
    return f"{seconds / size:.3g} {unit}"


def share_of_optimum(agent: Record) -> str:
    return f"{agent['reward']['mean']:.2f} ({agent['share_of_ceiling']:.1%})"


def mean_over(agent: Record, seeds: Sequence[int]) -> float:
    """Return the mean reward over some of an agent's seeds."""
    rewards = dict(zip(agent["seeds"], agent["reward"]["per_seed"], strict=True))
    return float(np.mean([rewards[seed] for seed in seeds]))


def first_exposure(agent: Record) -> str:
    """Say the mean reward per episode of contexts that are met for the first time."""
    rewards = agent.get("by_exposure", {}).get("reward")
    return f"{rewards['mean'][0]:.2f}" if rewards else "–"


def simulated(optimum: Record) -> Record:
    """Return what an ideal player was simulated to earn, where the ceiling is but a bound."""
    return optimum.get("elimination_simulated") or optimum.get("pooled_simulated") or {}


def reachable(optimum: Record) -> float:
    """Return the most that an agent with a memory is known to be able to earn."""
    return float(simulated(optimum).get("mean", optimum["with_memory"]))


def parts_of(summary: Record, document: Record) -> Record:
    """Return what the overview says of an experiment; the document has the recognising agent."""
    experiment = EXPERIMENTS[document["experiment"]]
    place, title = experiment.title.removeprefix("Experiment ").split(": ")
    part = summary["experiments"][experiment.name]
    agents = {**document["agents"], **part["agents"]}
    return {
        **{"place": place, "title": title, "name": experiment.name, "number": experiment.number},
        "earned": {name: agent["reward"]["mean"] for name, agent in agents.items()},
        "optimum": document["optimum"],
        "verdicts": [check["verdict"] for check in part["checks"] if check["paper"]],
    }


def players(document: Record) -> Iterator[Record]:
    """Yield agents, and of the bandit algorithms those that the paper's Fig. 3 shows."""
    experiment = EXPERIMENTS[document["experiment"]]
    number, rivals = experiment.number, ("gittins", "gittins with memory")
    optimum = document["optimum"]
    best = {True: reachable(optimum), False: optimum["without_memory"]}
    found = {name: document["baselines"].get(name) for name in rivals}
    for name, player in {**document["agents"], **found}.items():
        if player:
            columns = experiment.columns(player).items()
            mean = f"{player['reward']['mean']:{number}}"
            yield {
                "player": f"*{name}*" if name in rivals else name,
                "rewards": mean if name in rivals else with_interval(player["reward"], number),
                "runs": "" if name in rivals else single_runs(player["reward"], number),
                "share": None
                if name in rivals
                else player["reward"]["mean"] / best[player["remembers"]],
                "more": {column: f"{score:{number}}" for column, score in columns},
            }


def single_runs(reward: Record, number: str) -> str:
    """Write the range that holds nine in ten single runs."""
    ends = tolerance(reward["per_seed"])
    return "" if ends is None else " to ".join(f"{end:{number}}" for end in ends)


def milestones(agent: Record) -> Iterator[Record]:
    """Yield weights of strategies: cued while they are learned, uncued at the end."""
    for stone in agent["milestones"]:
        when, weights = f"epoch {stone['epoch']}", stone["weights"]["cued"]
        yield {"when": when, "reward": stone["cued"], "weights": weights}
    weights = agent["choices"]["group"]["uncued"]
    yield {"when": "uncued, at the end", "reward": agent["uncued"], "weights": weights}


def seeds_of(summary: Record) -> str:
    """Count the seeds of each experiment."""
    agents = [next(iter(each["agents"].values())) for each in summary["experiments"].values()]
    return ", ".join(str(len(agent["reward"]["per_seed"])) for agent in agents)


def cells_of(document: Record) -> Iterator[dict[str, Any]]:
    """Yield an experiment's cells at a preset, by variant."""
    for experiment, presets in document["cells"].items():
        for preset, cells in presets.items():
            yield {"where": f"{experiment}, {preset}", "experiment": experiment, "cells": cells}


def leads_of(document: Record) -> list[dict[str, Any]]:
    """List every cell with its lead over the paper's: by seed, two-sided p, and Holm's p.

    Leads are taken seed by seed, and p by Student's t; Holm's adjustment is for all cells.
    """
    rows = [
        {**each, "variant": variant, "cell": cell, "lead": None, "p": None, "adjusted": None}
        for each in cells_of(document)
        for variant, cell in each["cells"].items()
    ]
    others = [row for row in rows if row["variant"] != "paper"]
    for row in others:
        paper = rewards_of(row["cells"]["paper"])
        row["lead"] = np.subtract(rewards_of(row["cell"]), paper).tolist()
        row["p"] = float(stats.ttest_1samp(row["lead"], 0.0).pvalue)
    for row, adjusted in zip(others, holm([row["p"] for row in others]), strict=True):
        row["adjusted"] = adjusted
    return rows


def rewards_of(cell: Record) -> Any:
    return cell["reward"]["per_seed"]


def lead_of(row: Record) -> str:
    """Write a cell's lead: bold if p < .05 after Holm's adjustment for all cells of the table."""
    if not row["lead"]:
        return ""
    text = with_interval(over_seeds(row["lead"]), f"+{shown(row['experiment'])}")
    return f"**{text}**" if row["adjusted"] < 0.05 else text


def origins() -> list[Record]:
    """List the files under results/ by the command, commit and device that made them."""
    found: dict[tuple[str, str, str], tuple[dict[str, None], dict[str, None]]] = {}
    for path in sorted(RESULTS.rglob("*.json")):
        name, document = path.relative_to(RESULTS).as_posix(), read_json(path)
        for made in _made(document):
            command = NAME.sub("EXPERIMENT", repeatable(made.get("command", "")))
            command = re.sub(r" --record \S+", "", command).removeprefix("PYTHONPATH=tests ")
            device = made.get("device", "").replace("NVIDIA ", "").replace(" × ", "×")
            command = f"`{command}`" if command else "no command"
            # Shortened, but for the `+…` that says that it was changed.
            how = (command, re.sub(r"^(\w{7})\w*", r"\1", made.get("commit", "")), device)
            files, seeds = found.setdefault(how, ({}, {}))
            files[name.removesuffix(".json")] = seeds[_seeds(made)] = None
    return [
        {"made_by": ", ".join(filter(None, (*how, *seeds))), "files": ", ".join(files)}
        for how, (files, seeds) in sorted(found.items())
    ]


def _made(document: Record) -> Iterator[Record]:
    """Yield the parts of a file that a command made: all of it, some agents, or each cell."""
    presets = [each for found in document.get("cells", {}).values() for each in found.values()]
    yield from [cell for cells in presets for cell in cells.values()] or [document]
    yield from document.get("earlier", ())  # what made cells that a later command took over
    agents = document.get("agents", {})
    for agent in agents.values() if isinstance(agents, dict) else ():
        if "recorded" in agent:
            yield agent["recorded"] | {"seeds": agent["seeds"]}


def _seeds(made: Record) -> str:
    """Name the seeds that were trained, where the record does."""
    settings = made.get("settings", {})
    if seeds := made.get("seeds"):
        return f"{seeds[0]}–{seeds[-1]}"
    if not isinstance(settings.get("seeds"), int):
        return ""
    first = settings.get("first_seed", 0)
    return f"{first}–{first + settings['seeds'] - 1}"


def whole_state(summaries: Sequence[Record]) -> Iterator[Record]:
    """Yield, by experiment, the share of seeds at chance when the memory is an input."""
    for name, part in summaries[0]["experiments"].items():
        agents = part["agents"]
        yield {
            "experiment": name,
            "number": EXPERIMENTS[name].number,
            "at_chance": [_at_chance(each["experiments"][name]) for each in summaries],
            "rewards": agents["epl2rl-input"]["reward"]["per_seed"],
            "gate": agents["epl2rl"]["reward"]["mean"],
        }


def _at_chance(part: Record) -> str:
    shares = [c["value"] for c in part["checks"] if c["claim"].startswith("epl2rl-input is at")]
    return f"{shares[0]:.0%}" if shares else "–"


def gradient_noise(document: Record) -> Iterator[Record]:
    """Yield for each agent what was measured in all seeds, before training and after some."""
    rows: dict[tuple[str, str, str], dict[int, list[Record]]] = {}
    for row in document["rows"]:
        what = row["experiment"], row["agent"], row["choice"].removeprefix("task.")
        rows.setdefault(what, {}).setdefault(row["epochs"], []).append(row)
    for (experiment, agent, choice), (first, later) in (
        (what, found.values()) for what, found in rows.items()
    ):
        lanes = [f"{each['lanes']:,.0f}" if each["lanes"] else "not measurable" for each in later]
        yield {
            "who": f"{label(agent)}{', ' + choice if choice else ''}",
            "experiment": experiment,
            "noise": [f"{np.mean([row['noise'] for row in each]):.3g}" for each in (first, later)],
            "lanes": ", ".join(lanes),
        }


def compressed(document: Record) -> Iterator[Record]:
    """Yield rewards by the size of the input; how one compares with the gate is in its type."""
    for name, presets in document["experiments"].items():
        for preset, row in presets.items():
            agents, number = row["agents"], EXPERIMENTS[name].number
            means = {each: agent["reward"]["mean"] for each, agent in agents.items()}
            sizes = {f"{size}": f"epl2rl-input-{size}" for size in (2, 4, 8, 16)}
            yield {
                "where": f"{name}, {preset}",
                "none": f"{max(means.get(each, 0) for each in ('l2rl', 'l2rl-context')):{number}}",
                "sizes": {
                    size: _compared(agents, each, number)
                    for size, each in (sizes | {"all 50": "epl2rl-input"}).items()
                },
                "gate": f"{means['epl2rl']:{number}}",
            }


def _compared(agents: Record, name: str, number: str) -> str:
    """Write a mean reward: bold if as good as the gate's, in italics if undecided."""
    if name not in agents:
        return "–"
    (check,) = does_as_well(agents, name)
    found = check.evidence
    mark = "*" if found.p > ALPHA else "**" if found.value <= check.region.high else ""
    return f"{mark}{agents[name]['reward']['mean']:{number}}{mark}"


def parts(document: Record) -> str:
    """Show the lead over the paper's agent, seed by seed, of variants tried in several experiments.

    Bold: p < .05 after Holm's adjustment for all cells that are recorded.
    """
    columns = {
        each["experiment"]: f"{each['experiment']} ({len(each['cells']['paper']['seeds'])} seeds)"
        for each in cells_of(document)
        if len(each["cells"]) > 2
    }
    tried = Counter(row["variant"] for row in leads_of(document))
    rows: dict[str, dict[str, str]] = {}
    for each in leads_of(document):
        number, variant = shown(each["experiment"]), each["variant"]
        if tried[variant] == 1 or each["experiment"] not in columns:
            continue
        text = lead_of(each) or f"{np.mean(rewards_of(each['cell'])):{number}}"
        agent = {"agent": RECOGNITION.get(variant, variant)}
        row = rows.setdefault(variant, agent | dict.fromkeys(columns.values(), ""))
        row[columns[each["experiment"]]] = text
    return markdown([*rows.values()])


def with_width(optimum: Record) -> str:
    """Write what was simulated to be reachable, where the ceiling is a bound."""
    found = simulated(optimum)
    return f"{found['mean']:.3f} ± {found['half_width']:.3f}" if found else ""


def contest(documents: Sequence[Record]) -> list[Mapping[str, Any]]:
    """List agents with their size, and what they earn in each contest: of how much is reachable."""
    agents: dict[str, dict[str, Any]] = {}
    for document in documents:
        best = reachable(document["optimum"])
        settings = recorded_settings(
            EXPERIMENTS[document["experiment"]].world, document["settings"]
        )
        earned = {name: agent["reward"] for name, agent in document["agents"].items()}
        for name in sorted(earned, key=lambda name: -earned[name]["mean"]):
            weights = num_weights(AGENTS.find(name), settings.task, settings.network)
            size = {"weights": weights, "state_bytes": state_bytes(name, settings)}
            found = agents.setdefault(name, {"agent": name, **size, "earned": {}})
            share = f"{with_interval(earned[name])}: {earned[name]['mean'] / best:.0%}"
            found["earned"][document["experiment"].removeprefix("rivals-")] = share
    return [*agents.values()]


def state_bytes(agent: str, settings: Settings) -> int:
    """Count the bytes that an agent carries from step to step in one lane, its memory included."""
    learner = settings.make_learner(agent)
    state = jax.eval_shape(learner.init, jax.ShapeDtypeStruct((), "int32"))

    def start(params: Any) -> Any:
        player = learner.agent(params)
        begun = start_epoch(learner.world, player, learner.memory)
        return begun.player, begun.memory if player.remembers else ()

    return bytes_of(jax.eval_shape(start, state.params))


def contest_leads(documents: Sequence[Record], pairs: Sequence[Any]) -> list[Mapping[str, Any]]:
    """List how much more one agent of a contest earns than another, seed by seed."""
    agents: dict[str, dict[str, Any]] = {}
    for document in documents:
        agents.setdefault(document["experiment"], {}).update(document["agents"])
    leads = [(*pair, lead(agents[f"rivals-{pair[0]}"], *pair[1:])) for pair in pairs]
    return [
        {"task": SHARED.get(task, task), "pair": (one, other), "lead": by_seed}
        for task, one, other, by_seed in leads
    ]


def context_of(document: Record) -> str:
    """Say what a context of noisy barcodes is made of."""
    task = document["settings"]["task"]
    flips = f", each flipped with {task['noise']:g}" if task["noise"] else ""
    more = f" + {task['distractors']} redrawn" if task["distractors"] else ""
    return f"{task['barcode_length']} bits{flips}{more}"


def noisy(documents: Sequence[Record]) -> list[Mapping[str, Any]]:
    """List what agents earn in noisy barcodes, and which share of what can be had learned keys do.

    Shares are of new barcodes and of those trained on.
    """
    found: list[Mapping[str, Any]] = []
    for document in documents:
        agents = document["agents"]
        trained = {name: one["on_training_contexts"] for name, one in agents.items()}
        both = [
            with_interval(over_seeds(shares(each, LEARNED)), ".3f") for each in (agents, trained)
        ]
        rewards = {name: f"{one['reward']['mean']:.2f}" for name, one in agents.items()}
        right = [f"{agents[name]['retrieval']['mean']:.0%}" for name in ("epl2rl", LEARNED)]
        row = {"context": context_of(document), "rewards": rewards, "share": both, "right": right}
        found.append(row)
    return found


def elsewhere(documents: Sequence[Record], worlds: Sequence[str]) -> list[Mapping[str, Any]]:
    """List which share of a memory's worth is left to each agent in some worlds."""
    return [
        {"agent": agent, "left": {world: f"{kept(each)[world][agent]:.2f}" for world in worlds}}
        for each in documents
        for agent in each["agents"]
    ]
