"""Recorded results → tables of README.md and the pages; `fill_pages` writes them."""

from collections.abc import Callable
from statistics import median
from typing import Any

import recognition_tables
from reinstate.agent import INPUT_SIZES
from reinstate.analysis.intervals import with_interval
from reinstate.analysis.results import AgentResults, CheckRow, Results, Summary
from reinstate.analysis.verdicts import VERDICTS
from reinstate.choices.model import STRATEGIES
from reinstate.figures.style import LABELS
from reinstate.runs.experiment import EXPERIMENTS, Experiment
from reinstate.runs.search import rank_of, ranked
from reinstate_paper.claims import RECOGNISING
from reinstate_paper.memory_as_input import best_without


def overview_table(summary: Summary, *documents: Results) -> str:
    """Show the paper on one screen: a row per experiment, what a memory earns, what holds.

    The documents have the recognising agent; rewards of the others are the summary's.
    """
    heads = ["experiment", "without memory (L2RL)", "with memory (epL2RL)"]
    heads += ["recognising agent", "ceiling", "claims supported"]
    lines = [_row(*heads), "|---" + "|--:" * (len(heads) - 1) + "|"]
    for document in documents:
        experiment = EXPERIMENTS[document["experiment"]]
        place, title = experiment.title.removeprefix("Experiment ").split(": ")
        part, number = summary["experiments"][experiment.name], experiment.number
        agents = {**document["agents"], **part["agents"]}
        without = "l2rl" if "l2rl" in agents else "l2rl-context"
        rewards = [agents[name]["reward"]["mean"] for name in (without, "epl2rl", RECOGNISING)]
        page = f"docs/experiments/{place}-{experiment.name}.md"
        lines.append(
            _row(
                f"{place} [{title}]({page})",
                *(f"{each:{number}}" for each in (*rewards, document["optimum"]["with_memory"])),
                _held([check for check in part["checks"] if check["paper"]]),
            )
        )
    return "\n".join(lines)


def _held(checks: list[CheckRow]) -> str:
    held = sum(check["verdict"] == "supported" for check in checks)
    return f"{held} of {len(checks)}"


def results_table(results: Results) -> str:
    """Show each agent's reward with its interval, its share of the ceiling, and further scores.

    Of the other players, the two that Fig. 3 of the paper puts beside the agents' own memory.
    """
    experiment, agents = EXPERIMENTS[results["experiment"]], results["agents"]
    columns = list(experiment.columns(next(iter(agents.values()))))
    lines = [_row("agent", "reward", "share of its ceiling", *columns)]
    lines.append("|---" * (3 + len(columns)) + "|")
    for name, agent in agents.items():
        share = "" if agent["share_of_ceiling"] is None else f"{agent['share_of_ceiling']:.1%}"
        reward = with_interval(agent["reward"], experiment.number)
        lines.append(_row(LABELS.get(name, name), reward, share, *_scores(experiment, agent)))
    for name in ("gittins", "gittins with memory"):
        if rival := results["baselines"].get(name):
            reward = f"{rival['reward']['mean']:{experiment.number}}"
            lines.append(_row(f"*{name}*", reward, "", *_scores(experiment, rival)))
    return "\n".join([*lines, "", _provenance(results)])


def _scores(experiment: Experiment, player: AgentResults) -> list[str]:
    return [f"{score:{experiment.number}}" for score in experiment.columns(player).values()]


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _provenance(results: Results) -> str:
    epl2rl = results["agents"]["epl2rl"]
    total, before = results["seconds"]["total"], trained_before(results)
    time = f"{total:.0f} s in all, compile included"
    if before >= 1:
        time = f"{total:.0f} s after an interruption and {before:.0f} s of training before it"
    return (
        f"`{results['preset']}` preset, {len(epl2rl['seeds'])} seeds, {results['device']}, {time};"
        f" epL2RL trained at {epl2rl['steps_per_second'] / 1e6:.0f} million steps per second."
    )


def trained_before(results: Results) -> float:
    """Seconds of training done by calls before the one that finished, whose `seconds` these are."""
    agents = results["agents"].values()
    trained = sum(agent["train_steps"] / agent["steps_per_second"] for agent in agents)
    return max(0.0, trained - results["seconds"]["train"])


def growth_table(*mazes: Results) -> str:
    """How reward and cost grow with the maze; shares are of the optimum, or of its upper bound."""
    lines = ["| maze | steps | L2RL | epL2RL | training, each agent |", "|---|---|---|---|---|"]
    for results in mazes:
        task, agents = results["settings"]["task"], results["agents"]
        cells = [
            f"{agents[name]['reward']['mean']:.2f} ({agents[name]['share_of_ceiling']:.1%})"
            for name in ("l2rl", "epl2rl")
        ]
        steps = agents["epl2rl"]["train_steps"]
        seconds = steps / agents["epl2rl"]["steps_per_second"]
        cost = f"{steps / 1e6:,.0f} million steps, {seconds:.0f} s"
        maze = f"{task['height']} × {task['width']}"
        lines.append(f"| {maze} | {task['steps']} | {cells[0]} | {cells[1]} | {cost} |")
    return "\n".join(lines)


def classes_table(results: Results) -> str:
    """Reward on classes never met in training and on those met, and how often recall was right."""
    lines = [_row("agent", "new classes", "training classes", "recall of the right class")]
    lines.append("|---" * 4 + "|")
    for name, agent in results["agents"].items():
        known, accuracy = agent["on_training_contexts"], agent["retrieval"]
        share = f"{accuracy['mean']:.1%}" if accuracy else ""
        rewards = [with_interval(part["reward"]) for part in (agent, known)]
        lines.append(_row(LABELS.get(name, name), *rewards, share))
    return "\n".join(lines)


def embedder_table(ours: dict[str, Any], plain: dict[str, Any]) -> str:
    """Few-shot accuracy on the evaluation alphabets, beside what was published."""
    lines = [_row("task", "shipped", "Kaiser's settings", "published")]
    lines.append("|---" * 4 + "|")
    for a, b in zip(ours["few_shot"], plain["few_shot"], strict=True):
        task = f"{a['way']}-way {a['shot']}-shot, {a['rule']}"
        shares = [f"{x['accuracy']:.1%}" for x in (a, b)]
        lines.append(_row(task, *shares, f"{a['kaiser_2017']:.1%}"))
    runs = [f"{x['one_shot_runs']['accuracy']:.1%}" for x in (ours, plain)]
    lines.append(_row("Lake's 20 one-shot runs", *runs, ""))
    seconds = f"Trained in {ours['seconds']:.0f} s on {ours['device']}."
    return "\n".join([*lines, "", seconds])


def strategies_table(results: Results) -> str:
    """epL2RL's weights on cued episodes while it learns, and on uncued ones at the end."""
    agent = results["agents"]["epl2rl"]
    lines = [_row("when", "reward, cued", *STRATEGIES), "|---" * (2 + len(STRATEGIES)) + "|"]
    for stone in agent["milestones"]:
        weights = stone["weights"]["cued"]
        cells = [with_interval(weights[name], ".1f") for name in STRATEGIES]
        lines.append(_row(f"epoch {stone['epoch']}", f"{stone['cued']['mean']:.3f}", *cells))
    uncued = agent["choices"]["group"]["uncued"]
    cells = [with_interval(uncued[n], ".1f") if n in uncued else "" for n in STRATEGIES]
    lines.append(_row("uncued, at the end", f"{agent['uncued']['mean']:.3f}", *cells))
    return "\n".join(lines)


def tried_table(document: dict[str, Any]) -> str:
    """Trial runs: median and best reward of each kind, and the best agent's by exposure."""
    lines = [_row("tried", "runs", "median", "best", "by exposure"), "|---" * 5 + "|"]
    for row in document["runs"]:
        rewards = row["reward_of_each_run"]
        middle, best = f"{median(rewards):.2f}", f"{max(rewards):.2f}"
        by_exposure = ", ".join(f"{reward:.2f}" for reward in row["best_by_exposure_of_either"])
        lines.append(_row(row["what"], str(len(rewards)), middle, best, by_exposure))
    return "\n".join(lines)


def inputs_table(document: dict[str, Any]) -> str:
    """The retrieved state fed as an input, by what it is compressed to, beside the r-gate's way."""
    sizes = {f"epl2rl-input-{size}": str(size) for size in INPUT_SIZES}
    sizes["epl2rl-input"] = "all 50"
    lines = [_row("experiment", "chance", "no memory", *sizes.values(), LABELS["epl2rl"])]
    lines.append("|---" * (4 + len(sizes)) + "|")
    found = document["experiments"].items()
    rows = [(name, preset, row) for name, each in found for preset, row in each.items()]
    for name, preset, row in rows:
        number = EXPERIMENTS[name].number
        chance = "" if row["chance"] is None else f"{row['chance']:{number}}"
        inputs = [row["agents"].get(agent) for agent in sizes]
        players = [best_without(row), *inputs, row["epl2rl"]]
        rewards = [with_interval(each["reward"], number) if each else "" for each in players]
        lines.append(_row(f"{name}, {preset}", chance, *rewards))
    return "\n".join([*lines, "", f"Reward per episode, frozen weights{_where(rows)}."])


def _where(rows: list[tuple[str, str, dict[str, Any]]]) -> str:
    """On which devices the agents of each preset ran, as far as is known."""
    devices: dict[str, dict[str, None]] = {}
    for _, preset, row in rows:
        known = devices.setdefault(preset, {})
        known |= {agent["device"] or "an unrecorded one": None for agent in row["agents"].values()}
    return "".join(f"; {preset} preset on {' and '.join(d)}" for preset, d in devices.items())


def searches_table(*searches: dict[str, Any]) -> str:
    """Where presets stand among the settings that were tried for the agent without a memory."""
    heads = ("experiment", "tried for", "settings", "seeds", "lanes", "best", "preset", "its rank")
    lines = [_row(*heads), "|---" * len(heads) + "|"]
    for found in searches:
        name, agent, settings = found["experiment"], found["agent"], found["settings"]
        order, number = ranked(found["trials"], agent), EXPERIMENTS[name].number
        sizes = (len(order), settings["seeds"], settings["learner"]["lanes"])
        scores = [trial["agents"][agent] for trial in (order[0], found["trials"][0])]
        rewards = [f"{score['reward']:{number}}" for score in scores]
        rank = str(rank_of(order, agent, 0))
        lines.append(_row(name, LABELS[agent], *map(str, sizes), *rewards, rank))
    return "\n".join(lines)


SUMMARIES = ("paper preset", "replicate", "quick preset")  # in the order of the files


def verdicts_table(*summaries: Summary) -> str:
    """How the paper's claims fared in each summary, and how far it agrees with the first."""
    agreeing = "same verdict as above, ours included"
    heads = ("runs", "seeds", "claims of the paper", *VERDICTS, agreeing)
    lines = [_row(*heads), "|---" * len(heads) + "|"]
    for name, summary in zip(SUMMARIES, summaries, strict=False):
        counts = [f"{summary['totals'][each]:.0f}" for each in ("claims", *VERDICTS)]
        shared, same, flips = agreement(summaries[0], summary)
        agrees = f"{same} of {shared} claims, {flips or 'none'} reversed"
        own = summary is summaries[0]
        lines.append(_row(name, _seeds(summary), *counts, "" if own else agrees))
    return "\n".join(lines)


def _seeds(summary: Summary) -> str:
    """The number of seeds in each experiment."""
    parts = summary["experiments"].values()
    each = [next(iter(part["agents"].values()))["reward"]["per_seed"] for part in parts]
    return ", ".join(str(len(seeds)) for seeds in each)


def agreement(first: Summary, second: Summary) -> tuple[int, int, int]:
    """Count the claims that both judge, alike, and one supporting what the other contradicts."""
    ours, theirs = claims_of(first), claims_of(second)
    pairs = [(ours[key]["verdict"], theirs[key]["verdict"]) for key in ours if key in theirs]
    same = sum(a == b for a, b in pairs)
    return len(pairs), same, sum({*pair} == {"supported", "contradicted"} for pair in pairs)


def claims_of(summary: Summary) -> dict[tuple[str, str], CheckRow]:
    """Claims by experiment and text."""
    parts = summary["experiments"].items()
    return {(name, check["claim"]): check for name, part in parts for check in part["checks"]}


def recognition_table(*documents: dict[str, Any]) -> str:
    """Show the agent beyond the paper beside the paper's, without the last columns of its page."""
    header, rows = recognition_tables.worth(*documents)
    lines = [_row(*header[:7]), "|---" * 7 + "|", *(_row(*row[:7]) for row in rows)]
    return "\n".join(lines)


TABLES: dict[str, Callable[..., str]] = {
    "overview": overview_table,
    "recognition": recognition_table,
    "verdicts": verdicts_table,
    "results": results_table,
    "growth": growth_table,
    "classes": classes_table,
    "embedder": embedder_table,
    "strategies": strategies_table,
    "tried": tried_table,
    "inputs": inputs_table,
    "searches": searches_table,
}
