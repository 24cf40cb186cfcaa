"""Documents → the page: claims first, then a section for each experiment."""

import base64
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from itertools import count
from pathlib import Path
from string import Template
from typing import Any

from reinstate.analysis.intervals import with_interval
from reinstate.analysis.results import AgentResults
from reinstate.figures.chart import Chart, Drawing
from reinstate.figures.markup import ABSENT, Markup, folded, joined, percent, row, table, tag
from reinstate.figures.numbers import at, finite, interval
from reinstate.figures.replay_svg import animated_ways
from reinstate.figures.style import shown_agents
from reinstate.figures.svg import colour_class, figure, style_of
from reinstate.files import write_atomically
from reinstate.report.claims import claims
from reinstate.report.replaceable import require_report
from reinstate.report.sources import Document, Origin, load, shared_settings

TITLE = "Meta-learning with episodic recall"
INTRO = (
    "Results recorded by reinstate, a library around “Been There, Done That: Meta-Learning with"
    " Episodic Recall” (Ritter et al., ICML 2018). Its agents learn to learn; epL2RL also recalls,"
    " when a context comes back, the state it was in when it met that context before. Unless a"
    " caption says otherwise, numbers are of trained agents with frozen weights on fresh tasks."
)
INTERVALS = "Student’s t; for shares of seeds, exact ones after Clopper and Pearson"
LEARNING, MEMORY, CHOICES = "Learning, and what came of it", "What the memory does", "Choices"
HEADINGS = {  # of files whose charts have one together
    "training-curves": LEARNING,
    "by-exposure": LEARNING,
    "steps-to-goal": LEARNING,
    "regret": "Regret by pull",
    "probes": MEMORY,
    "gates": MEMORY,
    "familiarity": MEMORY,
    "elimination": MEMORY,
    "trajectories": "Replay",
    "choice-weights": CHOICES,
    "stay": CHOICES,
    "weights-in-training": CHOICES,
}


def write_page(paths: Sequence[Path], out: Path) -> int:
    """Write the page of these results; return how many bytes it has."""
    require_report(out)
    content = page_of(load(paths)).encode("utf-8", "replace")
    write_atomically(out, content)
    return len(content)


def page_of(documents: Sequence[Document]) -> str:
    """Make the page; the same documents give the same bytes."""
    names = _identifiers([d.experiment.name for d in documents])
    links, sections, colours = [], [], set()
    for document, name in zip(documents, names, strict=True):
        charts, heading = charts_of(document), _heading(document, name)
        links.append((name, heading))
        sections.append(section(document, name, heading, charts))
        drawn = [c for group in charts.values() for c in group if isinstance(c, Chart)]
        colours |= {series.colour for chart in drawn for series in chart.series}
        colours |= {agent.colour for agent in shown_agents(document.results)}
    if (judged := claims(documents, links)) is not None:
        links.insert(0, ("claims", "Claims"))
        sections.insert(0, judged)
    script = _part("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return Template(_part("page.html")).substitute(
        title=TITLE,
        intro=INTRO,
        intervals=INTERVALS,
        contents=tag("ul", *(tag("li", tag("a", text, href=f"#{to}")) for to, text in links)),
        main=joined(sections, "\n"),
        style=_part("page.css") + style_of(colours),
        script=script,
        script_hash=f"sha256-{digest}",  # the only script that the page's policy lets run
    )


def charts_of(document: Document) -> dict[str, list[Drawing]]:
    """Make the experiment's charts, those that the scores allow, by the heading over them."""
    groups: dict[str, list[Drawing]] = {}
    for stem, make in document.experiment.charts.items():
        if charts := list(make(document.results)):
            heading = HEADINGS.get(stem, stem.replace("-", " ").capitalize())
            groups.setdefault(heading, []).extend(charts)
    return groups


def _part(name: str) -> str:
    return (files("reinstate.report") / name).read_text(encoding="utf-8")


def _identifiers(names: Sequence[str]) -> list[str]:
    """Make names unique within the page: a second water-maze is water-maze-2."""
    found: list[str] = []
    for name in names:
        count = 1 + sum(other == name or other.startswith(f"{name}-") for other in found)
        found.append(name if count == 1 else f"{name}-{count}")
    return found


def _heading(document: Document, name: str) -> str:
    """Return the experiment's title; a second section of the same one says which it is."""
    title = document.experiment.title
    if name == document.experiment.name:
        return title
    path = document.path
    return f"{title} ({path.parent.name if path.name == 'results.json' else path.stem})"


def section(
    document: Document, name: str, heading: str, charts: dict[str, list[Drawing]]
) -> Markup:
    experiment = document.experiment
    where = f"Section {experiment.section} of the paper: " if experiment.section else ""
    return tag(
        "section",
        tag("h2", heading, id=f"{name}-heading"),
        tag("p", f"{where}{experiment.summary}."),
        tag("h3", "Results"),
        scores(document),
        *_notes(document),
        *_groups(name, charts),
        tag("h3", "Where these numbers come from"),
        *_origins(document.origins),
        id=name,
        aria_labelledby=f"{name}-heading",
    )


def _groups(name: str, charts: dict[str, list[Drawing]]) -> Iterator[Markup]:
    numbers, replays = count(1), count(1)
    # In a style sheet a name is more than text: letters and digits are left of it.
    plain = re.sub("[^a-zA-Z0-9]+", "-", f"replay-{name}")
    for heading, group in charts.items():
        drawn = [
            figure(each, f"{name}-chart-{next(numbers)}")
            if isinstance(each, Chart)
            else animated_ways(each, f"{plain}-{next(replays)}")
            for each in group
        ]
        if shown := [each for each in drawn if each is not None]:
            yield tag("h3", heading)
            yield tag("div", *shown, class_="charts")


def scores(document: Document) -> Markup:
    """Make one row per agent, then per algorithm: reward, share of its ceiling, columns."""
    agents = []
    for agent in shown_agents(document.results):
        dot = tag("span", class_=f"swatch {colour_class(agent.colour)}", aria_hidden="true")
        agents.append((joined([dot, agent.label]), agent.scores))
    rivals = [(n, each) for n, each in document.results["baselines"].items() if at(each, "reward")]
    columns = list(dict.fromkeys(name for _, each in agents for name in _columns(document, each)))

    def line(name: str, each: AgentResults) -> Markup:
        reward = _reward(document, each) if "reward" in each else "not evaluated"
        cells = _columns(document, each)
        share = percent(each.get("share_of_ceiling"))
        return row(name, reward, share, *(cells.get(column, "") for column in columns))

    bodies = [[line(*player) for player in players] for players in (agents, rivals)]
    head = ["agent", "reward per episode", "share of its ceiling", *columns]
    return table(f"{document.experiment.title}: scores", head, *bodies, class_="scores")


def _reward(document: Document, scores: AgentResults) -> str:
    mean, ci95 = finite(at(scores, "reward", "mean")), interval(at(scores, "reward", "ci95"))
    if mean is None:
        return ABSENT
    return with_interval({"mean": mean, "ci95": ci95, "per_seed": []}, document.experiment.number)


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
        cells["reward on training contexts"] = _reward(document, contexts)
    if (share := finite(at(scores, "retrieval", "mean"))) is not None:
        cells["recall of the right class"] = f"{share:.1%}"
    return cells


def _notes(document: Document) -> Iterator[Markup]:
    for part in ("optimum", "baselines"):
        if reason := at(document.results, part, "unavailable"):
            yield tag("p", f"No {part}: {reason}.", class_="muted")
    if any("reward" not in agent for agent in document.results["agents"].values()):
        text = "Not evaluated yet: reinstate evaluate RUN judges a run with frozen weights."
        yield tag("p", text, class_="muted")


def _origins(origins: Sequence[Origin]) -> Iterator[Markup]:
    same = shared_settings(origins)
    for place, origin in enumerate(origins):
        pairs = [(name, _fact(name, value)) for name, value in origin.facts.items() if value]
        if origin.label:
            yield tag("h4", origin.label)
        yield tag("dl", *(joined([tag("dt", k), tag("dd", v)]) for k, v in pairs))
        if not same or place == len(origins) - 1:
            title = "Settings" if same or not origin.label else f"Settings of {origin.label}"
            rows = [row(tag("code", name), value) for name, value in _flat(origin.settings)]
            yield folded(title, table(title, ["setting", "value"], rows))


def _fact(name: str, value: Any) -> object:
    if name == "rejudged":
        return joined([f"by version {value['version']}, ", tag("code", value["commit"])])
    if name == "seconds":
        spent = [(part, finite(seconds)) for part, seconds in value.items()]
        return ", ".join(f"{seconds:.1f} {part}" for part, seconds in spent if seconds is not None)
    return tag("code", value) if name in ("command", "commit") else value


def _flat(settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield nested settings by their names, joined by dots; a file may nest them very deep."""
    left = [*settings.items()][::-1]
    while left:
        name, value = left.pop()
        if isinstance(value, Mapping):
            left += [(f"{name}.{inner}", each) for inner, each in value.items()][::-1]
        else:
            yield name, str(value)
