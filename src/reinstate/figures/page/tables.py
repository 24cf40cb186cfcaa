"""Cards, tables and facts of the page: what agents earned, what became of claims, and why."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reinstate.analysis.results import AgentResults, CheckRow
from reinstate.analysis.verdicts import VERDICTS, count_verdicts, in_words, with_interval
from reinstate.figures.chart import at, written
from reinstate.figures.markup import (
    ABSENT,
    Markup,
    folded,
    joined,
    percent,
    row,
    table,
    tag,
    with_bounds,
)
from reinstate.figures.page.charts import colour_class
from reinstate.figures.page.documents import Document, Origin
from reinstate.figures.style import ShownAgent, shown_agents
from reinstate.settings import flat

CODE = ("command", "commit")
HEAD = ("claim", "the paper", "ours [95%]", "verdict")
SIGNS = {"supported": "✓", "contradicted": "✗", "undecided": "?"}
OURS = "Our own claims, which the paper does not make"
WITH, WITHOUT = "epl2rl", "l2rl"  # whose rewards a card shows, if they are there
REWARD, SHARE = "reward per episode", "share of its ceiling"

Names = Sequence[tuple[str, str]]  # of documents: the identifier on the page, and the heading
Judged = Sequence[Sequence[CheckRow]]  # of documents


def cards(documents: Sequence[Document], names: Names, judged: Judged) -> Markup:
    """Make a card for each document: its rewards, the ceiling, and how many claims hold."""
    made = [_card(*each) for each in zip(documents, names, judged, strict=True)]
    return tag("ul", *made, class_="cards")


def _card(document: Document, name: tuple[str, str], checks: Sequence[CheckRow]) -> Markup:
    ident, heading = name
    number = document.experiment.number
    without, memory = document.ceilings
    shown = {"with memory": _agent(document, True), "without": _agent(document, False)}
    figures = [_figure(words, agent, number) for words, agent in shown.items() if agent is not None]
    if (top := without if memory is None else memory) is not None:
        figures.append(tag("div", tag("dt", "ceiling"), tag("dd", f"{top:{number}}")))
    counts = count_verdicts(checks)
    verdicts = [
        tag("li", f"{SIGNS[each]} {counts[each]} {each}", class_=each)
        for each in VERDICTS
        if counts[each]
    ]
    preset, date = document.results["preset"], document.results.get("date")
    when = [f"{preset} preset" if preset else "", f"recorded {date}" if date else ""]
    return tag(
        "li",
        tag("h3", tag("a", heading, href=f"#{ident}")),
        tag("dl", *figures, class_="figures"),
        *([tag("ul", *verdicts, class_="verdicts")] if counts["claims"] else []),
        *([tag("div", ", ".join(filter(None, when)), class_="when")] if any(when) else []),
        class_="card",
    )


def _agent(document: Document, memory: bool) -> ShownAgent | None:
    """Return the paper's agent with or without a memory, or the first of that kind."""
    kind = [a for a in shown_agents(document.results) if a.scores.get("remembers") is memory]
    usual = [agent for agent in kind if agent.name == (WITH if memory else WITHOUT)]
    return next(iter(usual or kind), None)


def _figure(words: str, agent: ShownAgent, number: str) -> Markup:
    mean = at(agent.scores, "reward", "mean")
    said = "not evaluated" if mean is None else f"{mean:{number}}"
    who = tag("span", agent.label, class_="who")
    return tag("div", tag("dt", words), tag("dd", said, who), class_=colour_class(agent.colour))


def scores(document: Document) -> Markup:
    """Make one row per agent, then per algorithm: reward, share of its ceiling, columns."""
    agents = []
    for agent in shown_agents(document.results):
        dot = tag("span", class_=f"swatch {colour_class(agent.colour)}", aria_hidden="true")
        agents.append((joined([dot, agent.label]), agent.scores))
    rivals = [(n, each) for n, each in document.results["baselines"].items() if at(each, "reward")]
    number = document.experiment.number
    columns = list(dict.fromkeys(name for _, each in agents for name in _columns(document, each)))

    def line(name: str, each: AgentResults) -> Markup:
        reward = reward_of(each, number) if "reward" in each else "not evaluated"
        found = {REWARD: reward, SHARE: percent(each.get("share_of_ceiling"))}
        found |= _columns(document, each)
        return row(name, *(labelled(found.get(c, ""), c) for c in (REWARD, SHARE, *columns)))

    bodies = [[line(*player) for player in players] for players in (agents, rivals)]
    head = ["agent", REWARD, SHARE, *columns]
    return table(f"{document.experiment.title}: scores", head, *bodies, class_="scores")


def labelled(text: object, label: str) -> Markup:
    """Make a cell that knows the heading of its column: on a phone a row is a card."""
    return tag("td", text, data_label=label)


def reward_of(scores: Mapping[str, Any], number: str) -> str:
    """Write a mean reward with its interval, in as many digits as the experiment needs."""
    return with_interval(scores["reward"], number)


def _columns(document: Document, scores: AgentResults) -> dict[str, str]:
    """Return the experiment's columns, and those that only some experiments record.

    “2” after “regret at exposure 1” says of what: a heading may be read alone.
    """
    if "reward" not in scores:
        return {}
    found = document.experiment.columns(scores)
    stem = next(iter(found), "").rpartition(" ")[0]
    cells = {}
    for name, value in found.items():
        text = ABSENT if math.isnan(value) else f"{value:{document.experiment.number}}"
        cells[f"{stem} {name}" if name.isdecimal() else name] = text
    if contexts := at(scores, "on_training_contexts"):
        cells["reward on training contexts"] = reward_of(contexts, document.experiment.number)
    if (share := at(scores, "retrieval", "mean")) is not None:
        cells["recall of the right class"] = percent(share)
    return cells


def notes(document: Document) -> Iterator[Markup]:
    """Say what is missing, and why."""
    for part in ("optimum", "baselines"):
        if reason := at(document.results, part, "unavailable"):
            yield tag("p", f"No {part}: {reason}.", class_="muted")
    if any("reward" not in agent for agent in document.results["agents"].values()):
        text = "Not evaluated yet: reinstate evaluate RUN evaluates a run with frozen weights."
        yield tag("p", text, class_="muted")


def origins(found: Sequence[Origin]) -> Iterator[Markup]:
    """Show the facts and the settings of each origin."""
    for origin in found:
        if origin.label:
            yield tag("h4", origin.label)
        known = [[tag("dt", n), tag("dd", _fact(n, v))] for n, v in origin.facts.items() if v]
        yield tag("dl", *map(joined, known), class_="facts")
        title = f"Settings of {origin.label}" if origin.label else "Settings"
        rows = [row(tag("code", n), value) for n, value in flat(origin.settings)]
        yield folded(title, table(title, ["setting", "value"], rows))


def _fact(name: str, value: Any) -> object:
    if name == "seconds":
        return ", ".join(f"{seconds:.1f} {part}" for part, seconds in value.items())
    return tag("code", value) if name in CODE else value


def claims(documents: Sequence[Document], names: Names, judged: Judged) -> Markup | None:
    """Count the verdicts and show every claim."""
    every = [(c, name) for name, own in zip(names, judged, strict=True) for c in own]
    alarms = [alarm for document in documents for alarm in document.results["alarms"]]
    if not every and not alarms:
        return None
    counts = count_verdicts([check for check, _ in every])
    parts = [tag("p", f"Alarm: {alarm}.", class_="contradicted") for alarm in alarms]
    parts += [tag("p", f"{in_words(counts)}.")] if counts["claims"] else []
    parts += [_table(every)] if every else []
    heading = tag("h2", "Claims", id="claims-heading")
    return tag("section", heading, *parts, id="claims", aria_labelledby="claims-heading")


def _table(every: Sequence[tuple[CheckRow, tuple[str, str]]]) -> Markup:
    """Put claims of each section of the paper under a row that names it; ours come last."""
    groups: dict[tuple[str, str], list[Markup]] = {}
    for check, (ident, heading) in every:
        if section := check["paper"] and check["section"]:
            first = _heading(f"Section {section}: ", tag("a", heading, href=f"#{ident}"))
            groups.setdefault((ident, section), [first]).append(_row(check))
    ours = [_row(check) for check, _ in every if not check["paper"]]
    last = [[_heading(OURS), *ours]] if ours else []
    return table("The paper’s claims, and ours", HEAD, *groups.values(), *last, class_="claims")


def _heading(*words: str | Markup) -> Markup:
    title = tag("th", *words, colspan=len(HEAD), scope="rowgroup")
    return tag("tr", title, class_="group")


def _row(check: CheckRow) -> Markup:
    why = f" claimed: {check['bound']}; {_p(check)}"
    if check["tried"] and check["verdict"] != "supported":  # to make it hold
        why += f"; tried: {check['tried']}"
    word, ours = check["verdict"], with_bounds(check["value"], check["ci95"])
    verdict = tag("span", f"{SIGNS[word]} {word}", class_=word), tag("span", why, class_="bound")
    cells = check["paper"] or ABSENT, ours, joined(verdict)
    return row(check["claim"], *map(labelled, cells, HEAD[1:]))


def _p(check: CheckRow) -> str:
    p = written(check["p"])
    if (adjusted := check.get("p_holm")) is not None:
        p += f", after Holm {written(adjusted)}"
    return f"{p}, {check['seeds']} seeds" if check["seeds"] > 1 else f"{p}, one seed cannot tell"
