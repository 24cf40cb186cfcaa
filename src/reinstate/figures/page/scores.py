"""What agents earned → a table: one row per agent, then per algorithm."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reinstate.analysis.intervals import with_interval
from reinstate.analysis.results import AgentResults
from reinstate.figures.markup import ABSENT, Markup, folded, joined, percent, row, table, tag
from reinstate.figures.numbers import at, finite, interval
from reinstate.figures.page.charts import colour_class
from reinstate.figures.page.documents import Document, Origin, shared_settings
from reinstate.figures.style import shown_agents

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
        text = "Not evaluated yet: reinstate evaluate RUN judges a run with frozen weights."
        yield tag("p", text, class_="muted")


CODE = ("command", "commit")


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
