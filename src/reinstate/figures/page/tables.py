"""What agents earned, what became of claims, and where numbers come from → tables of the page."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reinstate.analysis.results import AgentResults, CheckRow
from reinstate.analysis.verdicts import count_verdicts, in_words, with_interval
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
from reinstate.figures.numbers import at, finite, interval, written
from reinstate.figures.page.charts import colour_class
from reinstate.figures.page.documents import Document, Origin, shared_settings
from reinstate.figures.style import shown_agents

CODE = ("command", "commit")
HEAD = ("claim", "the paper", "ours [95%]", "verdict")
SIGNS = {"supported": "✓", "contradicted": "✗", "undecided": "?"}
OPEN = "What is contradicted, and what is undecided"
OURS = "Our own claims, which the paper does not make"

Names = Sequence[tuple[str, str]]  # of documents: the identifier on the page, and the heading
Judged = Sequence[Sequence[CheckRow]]  # of documents
REWARD, SHARE = "reward per episode", "share of its ceiling"


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
        return row(
            name, *(labelled(found.get(each, ""), each) for each in (REWARD, SHARE, *columns))
        )

    bodies = [[line(*player) for player in players] for players in (agents, rivals)]
    head = ["agent", REWARD, SHARE, *columns]
    return table(f"{document.experiment.title}: scores", head, *bodies, class_="scores")


def labelled(text: object, label: str) -> Markup:
    """Make a cell that knows the heading of its column: on a phone a row is a card."""
    return tag("td", text, data_label=label)


def reward_of(scores: Mapping[str, Any], number: str) -> str:
    """Write a mean reward with its interval, in as many digits as the experiment needs."""
    mean, ci95 = finite(at(scores, "reward", "mean")), interval(at(scores, "reward", "ci95"))
    if mean is None:
        return ABSENT
    return with_interval({"mean": mean, "ci95": ci95, "per_seed": []}, number)


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
        known = finite(value)
        text = ABSENT if known is None else f"{known:{document.experiment.number}}"
        cells[f"{stem} {name}" if name.isdecimal() else name] = text
    if contexts := at(scores, "on_training_contexts"):
        cells["reward on training contexts"] = reward_of(contexts, document.experiment.number)
    if (share := finite(at(scores, "retrieval", "mean"))) is not None:
        cells["recall of the right class"] = f"{share:.1%}"
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
    """Show the facts of each origin, and settings, once where all have the same."""
    same = shared_settings(found)
    for place, origin in enumerate(found):
        pairs = [(name, _fact(name, value)) for name, value in origin.facts.items() if value]
        if origin.label:
            yield tag("h4", origin.label)
        facts = (joined([tag("dt", k), tag("dd", v)]) for k, v in pairs)
        yield tag("dl", *facts, class_="facts")
        if origin.settings and (not same or place == len(found) - 1):
            title = "Settings" if same or not origin.label else f"Settings of {origin.label}"
            rows = [row(tag("code", name), value) for name, value in _flat(origin.settings)]
            yield folded(title, table(title, ["setting", "value"], rows))


def _fact(name: str, value: Any) -> object:
    if name == "seconds":
        spent = [(part, finite(seconds)) for part, seconds in value.items()]
        return ", ".join(f"{seconds:.1f} {part}" for part, seconds in spent if seconds is not None)
    return tag("code", value) if name in CODE else value


def _flat(settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield nested settings by their names, joined by dots; a file may nest them very deep."""
    left = [*settings.items()][::-1]
    while left:
        name, value = left.pop()
        if isinstance(value, Mapping):
            left += [(f"{name}.{inner}", each) for inner, each in value.items()][::-1]
        else:
            yield name, str(value)


def claims(documents: Sequence[Document], names: Names, judged: Judged) -> Markup | None:
    """Show what does not hold or cannot be told, and fold the table of every claim."""
    rows = [row for own in judged for row in own]
    alarms = [alarm for document in documents for alarm in document.results["alarms"]]
    if not rows and not alarms:
        return None
    counts = count_verdicts(rows)
    said = [tag("p", f"{in_words(counts)}.")] if counts["claims"] else []
    open_ones = list(_open(names, judged))
    full = [folded(f"All {len(rows)} claims", _table(names, judged))] if rows else []
    return tag(
        "section",
        tag("h2", OPEN if open_ones else "Claims", id="claims-heading"),
        *(tag("p", f"Alarm: {alarm}.", class_="contradicted") for alarm in alarms),
        *said,
        *([tag("ul", *open_ones, class_="cards open")] if open_ones else []),
        *full,
        id="claims",
        aria_labelledby="claims-heading",
    )


def _open(names: Names, judged: Judged) -> Iterator[Markup]:
    """Make a card for each claim that is contradicted, then for each that is undecided."""
    for verdict in ("contradicted", "undecided"):
        for (name, heading), own in zip(names, judged, strict=True):
            found = [check for check in own if check["verdict"] == verdict]
            yield from (_card(check, name, heading) for check in found)


def _card(check: CheckRow, name: str, heading: str) -> Markup:
    said = [("the paper", check["paper"] or "our own claim, not the paper’s")]
    said += [("claimed", check["bound"]), ("found", f"{_ours(check)}, {_p(check)}")]
    said += [("tried", check["tried"])] if check["tried"] else []
    facts = (joined([tag("dt", k), tag("dd", v)]) for k, v in said)
    where = tag("a", heading, href=f"#{name}")
    return tag(
        "li",
        tag("div", _verdict(check), where, class_="head"),
        tag("strong", check["claim"]),
        tag("dl", *facts, class_="facts"),
        class_=f"card {check['verdict']}-card",
    )


def _table(names: Names, judged: Judged) -> Markup:
    groups: list[list[Markup]] = []
    ours: list[Markup] = [_heading(OURS)]
    for (name, heading), own in zip(names, judged, strict=True):
        groups += _sections(own, name, heading)
        ours += [_check(check) for check in own if not check["paper"]]
    groups += [ours] if len(ours) > 1 else []
    return table("The paper’s claims, and ours", HEAD, *groups, class_="claims")


def _sections(checks: Sequence[CheckRow], name: str, heading: str) -> list[list[Markup]]:
    """Make rows for each section of the paper, under a row that names it."""
    groups: dict[str, list[Markup]] = {}
    for check in checks:
        if check["paper"]:
            section = check["section"]
            link = tag("a", heading, href=f"#{name}")
            first = _heading(f"Section {section}: ", link)
            groups.setdefault(section, [first]).append(_check(check))
    return list(groups.values())


def _heading(*words: str | Markup) -> Markup:
    title = tag("th", *words, colspan=len(HEAD), scope="rowgroup")
    return tag("tr", title, class_="group")


def _check(check: CheckRow) -> Markup:
    why = tag("span", f" claimed: {check['bound']}; {_p(check)}", class_="bound")
    tried = check["tried"] if check["verdict"] != "supported" else ""  # to make it hold
    attempts = [tag("span", f"; tried: {tried}", class_="bound")] if tried else []
    cells = check["paper"] or ABSENT, _ours(check), joined([_verdict(check), why, *attempts])
    return row(check["claim"], *map(labelled, cells, HEAD[1:]))


def _verdict(check: CheckRow) -> Markup:
    verdict = check["verdict"]
    return tag("span", f"{SIGNS[verdict]} {verdict}", class_=verdict)


def _ours(check: CheckRow) -> str:
    return with_bounds(finite(check["value"]), interval(check["ci95"]))


def _p(check: CheckRow) -> str:
    p = written(check["p"])
    if (adjusted := check.get("p_holm")) is not None:
        p += f", after Holm {written(adjusted)}"
    return f"{p}, {check['seeds']} seeds" if check["seeds"] > 1 else f"{p}, one seed cannot tell"
