"""Documents → the page: claims first, then a section for each experiment."""

import base64
import hashlib
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from reinstate.analysis.intervals import with_interval
from reinstate.errors import UserError
from reinstate.files import write_atomically
from reinstate.report.charts import Chart, figure
from reinstate.report.claims import claims, grouped
from reinstate.report.colours import colour_class, style_of
from reinstate.report.markup import (
    ABSENT,
    Markup,
    escaped,
    finite,
    folded,
    joined,
    percent,
    row,
    table,
    tag,
)
from reinstate.report.plots import charts_of
from reinstate.report.sources import Document, Origin, Player, load, shared_settings, understood

TITLE = "Meta-learning with episodic recall"
INTRO = (
    "Results recorded by reinstate, a library around “Been There, Done That: Meta-Learning with"
    " Episodic Recall” (Ritter et al., ICML 2018). Its agents learn to learn; epL2RL also recalls,"
    " when a context comes back, the state it was in when it met that context before. Unless a"
    " caption says otherwise, numbers are of trained agents with frozen weights on fresh tasks."
)
BOOTSTRAP = (
    "percentile bootstraps, which cannot leave the range of the seeds (of choice weights:"
    " Student’s t)"
)
STUDENT = "Student’s t in results that an earlier version recorded"
GENERATOR = b'<meta name="generator" content="reinstate report">'


def write_page(paths: Sequence[Path], out: Path) -> int:
    """Write the page of these results; how many bytes it has."""
    require_report(out)
    content = page_of(load(paths)).encode("utf-8", "replace")
    write_atomically(out, content)
    return len(content)


def require_report(out: Path) -> None:
    """An earlier page may be made anew; anything else is not ours to overwrite."""
    if out.is_dir() or (out.exists() and GENERATOR not in out.read_bytes()[:2000]):
        raise UserError(f"{out} exists and is no report: choose another --out")


def page_of(documents: Sequence[Document]) -> str:
    """The same documents give the same page, byte for byte."""
    names = _identifiers([d.experiment.name for d in documents])
    sections, colours = [], set()
    checks: list[list[Markup]] = []
    for document, name in zip(documents, names, strict=True):
        with understood(document.path):
            charts = charts_of(document)
            sections.append(section(document, name, charts))
            checks += grouped(document, name, _heading(document, name))
        colours |= {s.colour for group in charts.values() for c in group for s in c.series}
        colours |= {player.colour for player in document.players}
    claimed = [claims(documents, checks)] if checks else []
    links = [("claims", "Claims")] if checks else []
    links += [(n, _heading(d, n)) for d, n in zip(documents, names, strict=True)]
    script = _part("page.js")
    return Template(_part("page.html")).substitute(
        title=escaped(TITLE),
        intro=escaped(INTRO),
        intervals=escaped(_intervals(documents)),
        contents=tag("ul", *(tag("li", tag("a", text, href=f"#{to}")) for to, text in links)),
        main=joined([*claimed, *sections], "\n"),
        style=_part("page.css") + style_of(colours),
        script=script,
        script_hash=_hash(script),
    )


def _intervals(documents: Sequence[Document]) -> str:
    """How brackets were made, which earlier versions did otherwise."""
    rewards = [player.scores.get("reward") for d in documents for player in d.players]
    kinds = {BOOTSTRAP if "iqm" in r else STUDENT for r in rewards if isinstance(r, dict)}
    return "; ".join(sorted(kinds or {BOOTSTRAP}))


def _part(name: str) -> str:
    return (files("reinstate.report") / name).read_text(encoding="utf-8")


def _hash(script: str) -> str:
    """What the page's policy lets run: this script, and nothing that a file could smuggle in."""
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"


def _identifiers(names: Sequence[str]) -> list[str]:
    """Unique within the page: a second water-maze is water-maze-2."""
    found: list[str] = []
    for name in names:
        count = 1 + sum(other == name or other.startswith(f"{name}-") for other in found)
        found.append(name if count == 1 else f"{name}-{count}")
    return found


def _heading(document: Document, name: str) -> str:
    """The experiment's title; a second section of the same one says which it is."""
    title = document.experiment.title
    if name == document.experiment.name:
        return title
    path = document.path
    return f"{title} ({path.parent.name if path.name == 'results.json' else path.stem})"


def section(document: Document, name: str, charts: dict[str, list[Chart]]) -> Markup:
    experiment = document.experiment
    return tag(
        "section",
        tag("h2", _heading(document, name), id=f"{name}-heading"),
        tag("p", f"Section {experiment.section} of the paper: {experiment.summary}."),
        tag("h3", "Results"),
        scores(document),
        *_notes(document),
        *_groups(name, charts),
        *_replay(document),
        tag("h3", "Where these numbers come from"),
        *_origins(document.origins),
        id=name,
        aria_labelledby=f"{name}-heading",
    )


def _groups(name: str, charts: dict[str, list[Chart]]) -> Iterator[Markup]:
    count = 0
    for heading, group in charts.items():
        drawn = [figure(chart, f"{name}-chart-{count + i}") for i, chart in enumerate(group, 1)]
        count += len(group)
        yield tag("h3", heading)
        yield tag("div", *drawn, class_="charts")


def scores(document: Document) -> Markup:
    """A row a player, agents first: reward, share of its ceiling, the experiment's columns."""
    baselines = document.results.get("baselines", {})
    rivals = {name: rival for name, rival in baselines.items() if isinstance(rival, dict)}
    agents = [(_name(player), player.scores) for player in document.players]
    found = [_columns(document, each) for _, each in agents]
    columns = list(dict.fromkeys(column for each in found for column in each))

    def rows(players: Sequence[tuple[str, dict[str, Any]]]) -> list[Markup]:
        cells = [_columns(document, each) for _, each in players]
        return [
            row(
                name,
                _reward(document, each),
                percent(each.get("share_of_ceiling")),
                *(cell.get(c, "") for c in columns),
            )
            for (name, each), cell in zip(players, cells, strict=True)
        ]

    head = ["agent", "reward an episode", "share of its ceiling", *columns]
    title = f"{document.experiment.title}: scores"
    return table(title, head, rows(agents), rows([*rivals.items()]), class_="scores")


def _name(player: Player) -> Markup:
    dot = tag("span", class_=f"swatch {colour_class(player.colour)}", aria_hidden="true")
    return joined([dot, player.label])


def _reward(document: Document, scores: dict[str, Any]) -> str:
    summary = scores.get("reward")
    return (
        "not evaluated" if summary is None else with_interval(summary, document.experiment.number)
    )


def _columns(document: Document, scores: dict[str, Any]) -> dict[str, str]:
    """The experiment's own, and what only some experiments record."""
    experiment = document.experiment
    if "reward" not in scores:
        return {}
    found = experiment.columns(scores)
    cells = {
        name: _cell(experiment.number, value)
        for name, value in zip(_spelled_out(list(found)), found.values(), strict=True)
    }
    if "on_training_contexts" in scores:
        known = scores["on_training_contexts"]["reward"]
        cells["reward on training contexts"] = with_interval(known, experiment.number)
    if scores.get("retrieval"):
        cells["recall of the right class"] = f"{scores['retrieval']['mean']:.1%}"
    return cells


def _spelled_out(names: Sequence[str]) -> list[str]:
    """“regret at exposure 1”, “2” → the second also says of what: a heading may be read alone."""
    stem = names[0].rpartition(" ")[0] if names else ""
    return [f"{stem} {name}" if name.isdecimal() else name for name in names]


def _cell(form: str, value: Any) -> str:
    known = finite(value)
    return ABSENT if known is None else f"{known:{form}}"


def _notes(document: Document) -> Iterator[Markup]:
    for part in ("optimum", "baselines"):
        if reason := document.results.get(part, {}).get("unavailable"):
            yield tag("p", f"No {part}: {reason}.", class_="muted")
    if any("reward" not in player.scores for player in document.players):
        text = "Not evaluated yet: reinstate evaluate RUN judges a run with frozen weights."
        yield tag("p", text, class_="muted")


def _replay(document: Document) -> Iterator[Markup]:
    """As an image: a drawing from a file can then neither run scripts nor restyle the page."""
    if document.replay is not None:
        data = base64.b64encode(document.replay).decode()
        text = (
            "Animated replay of two episodes in the same context: at the first exposure the agent"
            " searches the maze, at the second it walks to the goal it remembers."
        )
        yield tag("h3", "Replay")
        image = tag("img", src=f"data:image/svg+xml;base64,{data}", alt=text)
        yield tag("figure", image, class_="replay")


def _origins(origins: Sequence[Origin]) -> Iterator[Markup]:
    same = shared_settings(origins)
    for place, origin in enumerate(origins):
        pairs = [(name, _fact(name, value)) for name, value in origin.facts.items() if value]
        if origin.label:
            yield tag("h4", origin.label)
        yield tag("dl", *(joined([tag("dt", k), tag("dd", v)]) for k, v in pairs))
        if not same or place == len(origins) - 1:
            yield _settings(origin, whose="" if same else origin.label)


def _fact(name: str, value: Any) -> object:
    if name == "rejudged":
        return joined([f"by version {value['version']}, ", tag("code", value["commit"])])
    if name == "seconds":
        spent = [(part, finite(seconds)) for part, seconds in value.items()]
        return ", ".join(f"{seconds:.1f} {part}" for part, seconds in spent if seconds is not None)
    return tag("code", value) if name in ("command", "commit") else value


def _settings(origin: Origin, whose: str) -> Markup:
    title = f"Settings of {whose}" if whose else "Settings"
    rows = [row(tag("code", name), value) for name, value in _flat(origin.settings)]
    return folded(title, table(title, ["setting", "value"], rows))


def _flat(settings: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, value in settings.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", str(value)
