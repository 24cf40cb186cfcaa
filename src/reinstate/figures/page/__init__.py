"""Recorded results → one self-contained HTML page that opens offline.

Scorecards come first, and a chart of all experiments, then claims, then a section per experiment.
"""

import glob
import os
import re
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from string import Template
from typing import Any

from reinstate.errors import UserError, one_line
from reinstate.figures.chart import Chart
from reinstate.figures.markup import Markup, framed, joined, part, tag
from reinstate.figures.mpl import require_own
from reinstate.figures.page.charts import figure, map_figure, style_of, ways_figure, worth
from reinstate.figures.page.documents import Document, load
from reinstate.figures.page.tables import cards, claims, notes, origins, scores
from reinstate.files import read_document, write_atomically
from reinstate.runs.conclusions import as_one_family

TITLE = "Meta-learning with episodic recall"
LEARNING, MEMORY, CHOICES = "Learning curves and scores", "What the memory does", "Choices"
HEADINGS = {  # of files whose charts have one together
    "training-curves": LEARNING,
    "by-exposure": LEARNING,
    "steps-to-goal": LEARNING,
    "regret": "Regret by pull",
    "probes": MEMORY,
    "gates": MEMORY,
    "familiarity": MEMORY,
    "elimination": MEMORY,
    "trajectories": "Paths through the maze",
    "choice-weights": CHOICES,
    "stay": CHOICES,
    "weights-in-training": CHOICES,
}

# What has a colour of its own says so by its class: see `colour_class`.
COLOURED = re.compile('class="(?:[^"]* )?c([0-9a-f]{6})[ "]')
Figures = dict[str, list[Markup]]  # by the heading over them


def require_page(out: Path, verb: str = "report") -> None:
    """Refuse to overwrite anything but an earlier page of this verb."""
    require_own(out, f"reinstate {verb}", '<meta name="generator" content="{}">')


def require_document(path: Path, kind: type[Any]) -> None:
    """Refuse to overwrite anything but a JSON document of this kind, and of this kind alone."""
    if not os.path.lexists(path):
        return
    try:
        found = read_document(kind, path)
        others = found.keys() - kind.__required_keys__ - kind.__optional_keys__
    except UserError:
        others = {"all of it"}
    if others:
        raise UserError(
            f"{path} exists and is not of this command: move it, or choose another --out"
        )


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
    try:
        return _page_of(documents)
    except (LookupError, ValueError, TypeError, ArithmeticError, AttributeError) as error:
        said = f"{type(error).__name__}: {one_line(error)[:200]}"
        raise UserError(
            f"these results lack numbers that the page shows, or have others instead ({said}):"
            " name results as reinstate reproduce left them"
        ) from error


def _page_of(documents: Sequence[Document]) -> str:
    idents = _identifiers([d.experiment.name for d in documents])
    names = [(name, _heading(d, name)) for d, name in zip(documents, idents, strict=True)]
    judged = as_one_family([document.results for document in documents])
    drawn = [figures_of(*each) for each in zip(idents, documents, strict=True)]
    links = [("overview", "At a glance")]
    scale = worth(documents, [heading for _, heading in names])
    leading = [] if scale is None else [figure(scale, "overview-chart")]
    sections = [_overview(cards(documents, names, judged), leading)]
    if (open_claims := claims(documents, names, judged)) is not None:
        links.append(("claims", "Claims"))
        sections.append(open_claims)
    links += names
    sections += [section(*each) for each in zip(documents, names, drawn, strict=True)]
    main = joined(sections, "\n")
    script, style = part("page.js"), part("page.css") + style_of(COLOURED.findall(main))
    body = Template(part("page.html")).substitute(
        title=TITLE,
        contents=tag("ul", *(tag("li", tag("a", text, href=f"#{to}")) for to, text in links)),
        main=main,
    )
    return framed("report", TITLE, style, script, body)


def figures_of(name: str, document: Document) -> Figures:
    """Draw the charts that the scores allow, and the memory map; `name` starts identifiers."""
    numbers = count(1)
    groups: Figures = {}
    for stem, make in document.experiment.charts.items():
        heading = HEADINGS.get(stem, stem.replace("-", " ").capitalize())
        groups.setdefault(heading, []).extend(
            figure(each, f"{name}-chart-{next(numbers)}")
            if isinstance(each, Chart)
            else ways_figure(each, f"{name}-ways")
            for each in make(document.results)
        )
    if document.memory:
        groups.setdefault(MEMORY, []).append(map_figure(document.memory, f"{name}-map"))
    return groups


def _overview(scorecards: Markup, charts: Sequence[Markup]) -> Markup:
    return tag(
        "section",
        tag("h2", "At a glance", id="overview-heading", class_="unseen"),
        tag("div", scorecards, *charts, class_="overview"),
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
