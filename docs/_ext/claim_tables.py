"""results.json and summary.json → tables of what agents earn, and of claims."""

import re
from collections.abc import Callable, Sequence

from reinstate.agent import INPUT_SIZES
from reinstate.analysis.intervals import with_interval
from reinstate.analysis.results import CheckRow, Results, Summary
from reinstate.analysis.verdicts import VERDICTS, with_verdicts
from reinstate.choices.model import STRATEGIES
from reinstate.cli.tables import as_text
from reinstate.figures.numbers import written
from reinstate.figures.style import LABELS, label
from reinstate.runs.experiment import EXPERIMENTS
from reinstate_paper.claims import RECOGNISING, does_as_well
from words import NBSP, Record, Rows, markdown

SUMMARIES = ("paper preset", "replicate", "quick preset")  # in the order of the files
AGENT = re.compile(r"(?<![\w-])(?:ep)?l2rl(?:-[a-z]+)?(?:-\d+)?(?![\w-])")


def overview(summary: Summary, *documents: Results) -> str:
    """Show the paper on one screen: a row per experiment, what a memory earns, what holds.

    The documents have the recognising agent; rewards of the others are the summary's.
    """
    rows = []
    for document in documents:
        experiment = EXPERIMENTS[document["experiment"]]
        place, title = experiment.title.removeprefix("Experiment ").split(": ")
        part = summary["experiments"][experiment.name]
        agents = {**document["agents"], **part["agents"]}
        earned = {name: f"{agents[name]['reward']['mean']:{experiment.number}}" for name in agents}
        held = [c["verdict"] == "supported" for c in part["checks"] if c["paper"]]
        page = f"docs/experiments/{place}-{experiment.name}.md"
        rows.append(
            {
                "experiment": f"{place} [{title}]({page})",
                "without memory (L2RL)": earned.get("l2rl") or earned["l2rl-context"],
                "with memory (epL2RL)": earned["epl2rl"],
                "recognising agent": earned[RECOGNISING],
                "ceiling": f"{document['optimum']['with_memory']:{experiment.number}}",
                "claims supported": f"{sum(held)} of {len(held)}",
            }
        )
    return markdown(rows, right=True)


def results(document: Results) -> str:
    """Show each agent's reward with its interval, its share of the ceiling, and further scores.

    Of the other players, the two that Fig. 3 of the paper puts beside the agents' own memory.
    """
    experiment, agents = EXPERIMENTS[document["experiment"]], document["agents"]
    number, rows = experiment.number, []
    for name, agent in agents.items():
        known, reward = agent["share_of_ceiling"], with_interval(agent["reward"], number)
        share = "" if known is None else f"{known:.1%}"
        row = {"agent": label(name), "reward": reward, "share of its ceiling": share}
        rows.append(row | {n: f"{s:{number}}" for n, s in experiment.columns(agent).items()})
    for name in ("gittins", "gittins with memory"):
        if rival := document["baselines"].get(name):
            reward = f"{rival['reward']['mean']:{number}}"
            row = {"agent": f"*{name}*", "reward": reward, "share of its ceiling": ""}
            rows.append(row | {n: f"{s:{number}}" for n, s in experiment.columns(rival).items()})
    return f"{markdown(rows)}\n\n{_provenance(document)}"


def _provenance(document: Results) -> str:
    epl2rl = document["agents"]["epl2rl"]
    total, before = document["seconds"]["total"], trained_before(document)
    time = f"{total:.0f} s in all, compile included"
    if before >= 1:
        time = f"{total:.0f} s after an interruption and {before:.0f} s of training before it"
    seeds, device = len(epl2rl["seeds"]), document["device"]
    return (
        f"`{document['preset']}` preset, {seeds} seeds, {device}, {time};"
        f" epL2RL trained at {epl2rl['steps_per_second'] / 1e6:.0f} million steps per second."
    )


def trained_before(document: Results) -> float:
    """Seconds of training done by calls before the one that finished, whose `seconds` these are."""
    agents = document["agents"].values()
    trained = sum(agent["train_steps"] / agent["steps_per_second"] for agent in agents)
    return max(0.0, trained - document["seconds"]["train"])


def strategies(document: Results) -> str:
    """Show epL2RL's weights on cued episodes while it learns, and on uncued ones at the end."""
    agent = document["agents"]["epl2rl"]
    found = [(f"epoch {s['epoch']}", s["cued"], s["weights"]["cued"]) for s in agent["milestones"]]
    found.append(("uncued, at the end", agent["uncued"], agent["choices"]["group"]["uncued"]))
    rows = [
        {"when": when, "reward, cued": f"{reward['mean']:.3f}"}
        | {n: with_interval(weights[n], ".1f") if n in weights else "" for n in STRATEGIES}
        for when, reward, weights in found
    ]
    return markdown(rows)


def inputs(document: Record) -> str:
    """Show what the retrieved state earns as an input, by what it is compressed to."""
    sizes = {f"epl2rl-input-{size}": str(size) for size in INPUT_SIZES} | {"epl2rl-input": "all 50"}
    rows: Rows = []
    devices: dict[str, dict[str, None]] = {}
    for name, presets in document["experiments"].items():
        for preset, row in presets.items():
            number, agents = EXPERIMENTS[name].number, row["agents"]
            plain = [agents[each] for each in ("l2rl", "l2rl-context") if each in agents]
            players = {"no memory": max(plain, key=lambda each: each["reward"]["mean"])}
            players |= {size: agents.get(agent) for agent, size in sizes.items()}
            players[label("epl2rl")] = agents["epl2rl"]
            chance = f"{row['chance']:{number}}"
            rewards = {
                n: with_interval(e["reward"], number) if e else "" for n, e in players.items()
            }
            rows.append({"experiment": f"{name}, {preset}", "chance": chance} | rewards)
            known = devices.setdefault(preset, {})
            fed = [agents[each] for each in sizes if each in agents]
            known |= {agent["device"] or "an unrecorded one": None for agent in fed}
    where = "".join(f"; {preset} preset on {' and '.join(d)}" for preset, d in devices.items())
    return f"{markdown(rows)}\n\nReward per episode, frozen weights{where}."


def optimum(document: Results) -> str:
    """List the optima; one that is known by exposure has a small table of its own."""
    optima = {name.replace("_", " "): value for name, value in document["optimum"].items()}
    single = [(n, as_text(value)) for n, value in optima.items() if not isinstance(value, list)]
    parts = [[{"optimum": name, "value": value} for name, value in single]]
    for name, values in optima.items():
        if isinstance(values, list):
            by_exposure = {str(n): as_text(value) for n, value in enumerate(values, 1)}
            parts.append([{"exposure": name} | by_exposure])
    return "\n\n".join(map(markdown, parts))


def claims(document: Results) -> str:
    """Show the paper's claims of one document, judged together, then ours, each judged alone."""
    paper, ours = (
        [_claim(each) for each in document["checks"] if bool(each["paper"]) is its]
        for its in (True, False)
    )
    parts = [markdown(paper)] if paper else []
    if ours:
        parts += ["Claims of ours, each judged alone:"] if paper else []
        parts.append(markdown(ours))
    return "\n\n".join(parts)


def input_claims(document: Record) -> str:
    """Show which inputs do as well as the r-gate, in each experiment and preset that was run."""
    rows: list[CheckRow] = []
    for name, presets in document["experiments"].items():
        for preset, row in presets.items():
            agents = row["agents"]
            for each in (agent for agent in agents if agent.startswith("epl2rl-input")):
                (check,) = does_as_well(agents, each)
                claim = f"{name}, {preset} preset: {check.claim}"
                rows.append(check._replace(claim=claim).as_row())
    return markdown([_claim(each) for each in with_verdicts(rows)])


def _claim(check: CheckRow) -> dict[str, str]:
    """Show a claim with its adjusted p, and with what was tried where it does not hold."""
    verdict, adjusted = check["verdict"], check["p_holm"]
    last = f"; tried: {check['tried']}" if check["tried"] and verdict != "supported" else ""
    return {
        **({"the paper": check["paper"]} if check["paper"] else {}),
        "tested here": named(f"{check['claim']}: {check['bound']}"),
        "value [95%]": _value(check),
        "*p*": _odds(check["p"]),
        **({"*p* (Holm)": "" if adjusted is None else _odds(adjusted)} if check["paper"] else {}),
        "verdict": f"{_stressed(verdict)}{last}",
    }


def named(claim: str) -> str:
    """Write agents as readers know them; one whose label is a phrase stays a name in code."""
    labels = {name: label for name, label in LABELS.items() if "," not in label}
    return AGENT.sub(lambda found: labels.get(found[0], f"`{found[0]}`"), claim)


def _stressed(verdict: str) -> str:
    return verdict if verdict == "supported" else f"**{verdict}**"


def _value(check: CheckRow) -> str:
    ci95 = check["ci95"]
    interval = f" [{ci95[0]:.3f},{NBSP}{ci95[1]:.3f}]" if ci95 else ""
    return f"{check['value']:.3f}{interval}"


def _odds(p: float) -> str:
    return written(p).removeprefix("p ").removeprefix("= ").replace(" ", NBSP)


def paper_claims(*summaries: Summary) -> str:
    """Show the paper's claims in several summaries, the first of which has all; and the counts."""
    rows = _side_by_side(summaries, of_the_paper=True)
    for name in ("claims", *VERDICTS):
        counts = [str(summary["totals"][name]) for summary in summaries]
        rows.append(dict(zip(rows[0], ["", "", f"*{name}*", *counts], strict=True)))
    return markdown(rows)


def our_claims(*summaries: Summary) -> str:
    """Show claims that the paper does not make."""
    rows = _side_by_side(summaries, of_the_paper=False)
    return markdown([{name: row[name] for name in row if name != "the paper"} for row in rows])


def _side_by_side(summaries: Sequence[Summary], of_the_paper: bool) -> Rows:
    """Make a row for each claim of the first summary; one that lacks it has an empty cell."""
    columns = dict(zip(SUMMARIES, map(claims_of, summaries), strict=False))
    rows = []
    for key, check in columns[SUMMARIES[0]].items():
        if bool(check["paper"]) is of_the_paper:
            row = {"section": check["section"], "the paper": check["paper"]}
            row["tested here"] = named(f"{check['claim']}: {_region(check)}")
            for name, found in columns.items():
                its = found.get(key)
                row[name] = f"{_stressed(its['verdict'])} {_value(its)}" if its else ""
            rows.append(row)
    return rows


def _region(check: CheckRow) -> str:
    low, high = (None if end is None else f"{end:.3g}" for end in check["region"])
    if low and high:
        return f"{low} to {high}"
    return f"≥{NBSP}{low}" if low else f"≤{NBSP}{high}"


def verdicts(*summaries: Summary) -> str:
    """Show how the paper's claims fared in each summary, and how far it agrees with the first."""
    rows: Rows = []
    for name, summary in zip(SUMMARIES, summaries, strict=False):
        parts = summary["experiments"].values()
        agents = [next(iter(part["agents"].values())) for part in parts]
        shared, same, flips = agreement(summaries[0], summary)
        agrees = f"{same} of {shared} claims, {flips or 'none'} reversed"
        rows.append(
            {
                "runs": name,
                "seeds": ", ".join(str(len(agent["reward"]["per_seed"])) for agent in agents),
                "claims of the paper": str(summary["totals"]["claims"]),
                **{each: str(summary["totals"][each]) for each in VERDICTS},
                "same verdict as above, ours included": agrees if rows else "",
            }
        )
    return markdown(rows)


def agreement(first: Summary, second: Summary) -> tuple[int, int, int]:
    """Count the claims that both judge, alike, and one supporting what the other contradicts."""
    ours, theirs = claims_of(first), claims_of(second)
    pairs = [(ours[key]["verdict"], theirs[key]["verdict"]) for key in ours if key in theirs]
    same = sum(a == b for a, b in pairs)
    return len(pairs), same, sum({*pair} == {"supported", "contradicted"} for pair in pairs)


def claims_of(summary: Summary) -> dict[tuple[str, str], CheckRow]:
    """Return claims by experiment and text."""
    parts = summary["experiments"].items()
    return {(name, check["claim"]): check for name, part in parts for check in part["checks"]}


TABLES: dict[str, Callable[..., str]] = {
    "overview": overview,
    "results": results,
    "strategies": strategies,
    "inputs": inputs,
    "input-claims": input_claims,
    "optimum": optimum,
    "claims": claims,
    "paper-claims": paper_claims,
    "our-claims": our_claims,
    "verdicts": verdicts,
}
