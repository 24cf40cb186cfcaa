"""Documents → the page: scorecards and a chart, open claims, then a section per experiment."""

import glob
import re
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from string import Template

from reinstate.figures.chart import Chart, Drawing
from reinstate.figures.film import animated_ways
from reinstate.figures.markup import Markup, joined, tag
from reinstate.figures.page.charts import figure, map_figure, style_of, ways_figure
from reinstate.figures.page.documents import Document, load
from reinstate.figures.page.frame import framed, part, require_page
from reinstate.figures.page.overview import by_size, cards, cells_of, worth
from reinstate.figures.page.tables import Names, claims, notes, origins, scores
from reinstate.figures.style import shown_agents
from reinstate.files import write_atomically
from reinstate.runs.conclusions import as_one_family

TITLE = "Meta-learning with episodic recall"
LEARNING, MEMORY, CHOICES = "Learning, and what came of it", "What the memory does", "Choices"
REPLAY = "Ways through the maze"
HEADINGS = {  # of files whose charts have one together
    "training-curves": LEARNING,
    "by-exposure": LEARNING,
    "steps-to-goal": LEARNING,
    "regret": "Regret by pull",
    "probes": MEMORY,
    "gates": MEMORY,
    "familiarity": MEMORY,
    "elimination": MEMORY,
    "trajectories": REPLAY,
    "choice-weights": CHOICES,
    "stay": CHOICES,
    "weights-in-training": CHOICES,
}

Figures = dict[str, list[Markup]]  # by the heading over them


def write_page(paths: Sequence[Path], out: Path) -> int:
    """Write the page of these results; return how many bytes it has."""
    require_page(out)
    content = page_of(load(paths)).encode("utf-8", "replace")
    for left in out.parent.glob(f".{glob.escape(out.name)}.*.tmp"):  # by a call that was killed
        left.unlink(missing_ok=True)
    write_atomically(out, content)
    return len(content)


def page_of(documents: Sequence[Document]) -> str:
    """Make the page; the same documents give the same bytes."""
    idents = _identifiers([d.experiment.name for d in documents])
    names = [(name, _heading(d, name)) for d, name in zip(documents, idents, strict=True)]
    charts = _all_charts(documents)
    judged = as_one_family([document.results for document in documents])
    drawn = [figures_of(*each) for each in zip(idents, charts, documents, strict=True)]
    links = [("overview", "At a glance")]
    leading = _leading(documents, names, drawn)
    sections = [_overview(cards(documents, names, judged), leading)]
    if (open_claims := claims(documents, names, judged)) is not None:
        links.append(("claims", "Claims"))
        sections.append(open_claims)
    links += names
    sections += [section(*each) for each in zip(documents, names, drawn, strict=True)]
    script, style = part("page.js"), part("page.css") + style_of(_colours(documents, charts))
    body = Template(part("page.html")).substitute(
        title=TITLE,
        contents=tag("ul", *(tag("li", tag("a", text, href=f"#{to}")) for to, text in links)),
        main=joined(sections, "\n"),
    )
    return framed("report", TITLE, style, script, body)


def _all_charts(documents: Sequence[Document]) -> list[dict[str, list[Drawing]]]:
    """Make the charts of each document; the first of several mazes also has one of them all."""
    charts = [charts_of(document) for document in documents]
    if (sizes := by_size(documents)) is not None:
        first = next(n for n, document in enumerate(documents) if cells_of(document))
        charts[first].setdefault(LEARNING, []).append(sizes)
    return charts


def charts_of(document: Document) -> dict[str, list[Drawing]]:
    """Make the experiment's charts, those that the scores allow, by the heading over them."""
    groups: dict[str, list[Drawing]] = {}
    for stem, make in document.experiment.charts.items():
        if charts := list(make(document.results)):
            heading = HEADINGS.get(stem, stem.replace("-", " ").capitalize())
            groups.setdefault(heading, []).extend(charts)
    return groups


def figures_of(name: str, charts: dict[str, list[Drawing]], document: Document) -> Figures:
    """Draw charts and the memory map, with identifiers that start with `name`."""
    numbers, mazes = count(1), count(1)
    groups: Figures = {}
    for heading, group in charts.items():
        drawn: list[Markup | None] = []
        for each in group:
            if isinstance(each, Chart):
                drawn.append(figure(each, f"{name}-chart-{next(numbers)}"))
            else:
                place = next(mazes)
                drawn.append(animated_ways(each, f"replay-{name}-{place}"))
                drawn.append(ways_figure(each, f"{name}-ways-{place}"))
        groups[heading] = [each for each in drawn if each is not None]
    if document.memory and (found := map_figure(document.memory, f"{name}-map")):
        groups.setdefault(MEMORY, []).append(found)
    return groups


def _leading(
    documents: Sequence[Document], names: Names, drawn: Sequence[Figures]
) -> Markup | None:
    """Take the chart that comes first: of all experiments together, or of the only one."""
    if (chart := worth(documents, [heading for _, heading in names])) is not None:
        return figure(chart, "overview-chart")
    groups = next(iter(drawn), {})
    return next((group.pop(0) for group in groups.values() if group), None)


def _overview(scorecards: Markup, chart: Markup | None) -> Markup:
    beside = [scorecards] if chart is None else [scorecards, chart]
    return tag(
        "section",
        tag("h2", "At a glance", id="overview-heading", class_="unseen"),
        tag("div", *beside, class_="overview"),
        id="overview",
        aria_labelledby="overview-heading",
    )


def section(document: Document, name: tuple[str, str], groups: Figures) -> Markup:
    """Make an experiment's section: scores folded, figures, where the numbers come from."""
    experiment, (ident, heading) = document.experiment, name
    where = f"Section {experiment.section} of the paper: " if experiment.section else ""
    return tag(
        "section",
        tag("h2", heading, id=f"{ident}-heading"),
        tag("p", f"{where}{experiment.summary}."),
        tag("details", tag("summary", "Scores of every agent"), scores(document), class_="printed"),
        *notes(document),
        *_groups(groups),
        tag("h3", "Where these numbers come from"),
        *origins(document.origins),
        id=ident,
        aria_labelledby=f"{ident}-heading",
    )


def _groups(groups: Figures) -> Iterator[Markup]:
    for heading, drawn in groups.items():
        if drawn:
            parts = [tag("h3", heading), tag("div", *drawn, class_="charts")]
            yield tag("div", *parts, class_="group")


def _colours(documents: Sequence[Document], charts: Sequence[dict[str, list[Drawing]]]) -> set[str]:
    drawn = [c for groups in charts for group in groups.values() for c in group]
    found = {series.colour for c in drawn if isinstance(c, Chart) for series in c.series}
    return found | {agent.colour for d in documents for agent in shown_agents(d.results)}


def _identifiers(names: Sequence[str]) -> list[str]:
    """Make names unique within the page: a second water-maze is water-maze-2.

    Style sheets and pictures refer to them: letters and digits are left of names.
    """
    found: list[str] = []
    for name in (re.sub("[^a-zA-Z0-9]+", "-", name) for name in names):
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
