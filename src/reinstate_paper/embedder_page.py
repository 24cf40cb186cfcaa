"""Cards of embedders → a section of the page: how well drawings of new characters are known."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

from reinstate.analysis.documents import checked
from reinstate.analysis.intervals import NORMAL
from reinstate.figures.chart import Chart, Interval, Series
from reinstate.figures.markup import Markup, tag
from reinstate.figures.numbers import at, finite
from reinstate.figures.page.sources import Origin
from reinstate.figures.style import COLOURS, GREY, SPARE
from reinstate.files import read_json
from reinstate_paper.omniglot.card import FewShot, OneShotRuns, Tested

HEADING = "The embedder of drawings"
SAID = (
    "In Experiment 2 a context is a drawing of a character, as a network sees it that was taught"
    " with other alphabets (after Kaiser et al. 2017). Such an embedder is good if it recognises"
    " characters that it never saw: of 5 or 20 of them (5-way, 20-way) it is shown one drawing each"
    " or five (1-shot, 5-shot), and has to say of which one a further drawing is."
)
NOTE = (
    "Share of drawings of unseen characters that are recognised, with 95% intervals over tests: by"
    " the nearest drawing shown or, where it says so, by the nearest mean of a class."
)
PUBLISHED = "Kaiser et al. 2017, as published"
PRESETS = {"plain": "plain preset, with Kaiser’s settings"}
FACTS = ("command", "version", "commit", "jax", "device", "epochs", "updates")
MOST_TESTS = 12
DODGE = 0.6  # of a category, shared by its series


class Embedder(NamedTuple):
    """An embedder, as its card describes it."""

    path: Path
    card: Tested


def load_embedder_card(path: Path, inside: Path | None = None) -> Embedder:
    """Read a card that may be anybody's."""
    advice = "name a card.json that reinstate pretrain left"
    found = checked(Tested, read_json(path), path, "describe an embedder", advice)
    return Embedder(path, found)


def names_of(embedders: Sequence[Embedder]) -> list[str]:
    """Name embedders by their presets, and by their files where that would not set them apart."""
    presets = [_preset(each) for each in embedders]
    shown = [PRESETS.get(preset, f"{preset} preset" if preset else "") for preset in presets]
    files = [e.path.parent.name if e.path.name == "card.json" else e.path.stem for e in embedders]
    return [
        name if name and shown.count(name) == 1 else f"{name} ({file})".strip()
        for name, file in zip(shown, files, strict=True)
    ]


def _preset(embedder: Embedder) -> str:
    command = at(embedder.card, "command")
    found = re.search(r"--preset (\w{1,20})", command) if isinstance(command, str) else None
    return found[1] if found else ""


def accuracy_chart(embedders: Sequence[Embedder]) -> Chart | None:
    """Make a chart of all tests, one set of points per embedder, beside what was published."""
    places: dict[str, float] = {}
    for test, _ in (each for e in embedders for each in _tests(e.card)):
        if len(places) < MOST_TESTS:
            places.setdefault(test, float(len(places)))
    colours = cycle((COLOURS["epl2rl"], COLOURS["l2rl"], *SPARE))
    series: list[Series] = []
    for name, colour, embedder in zip(names_of(embedders), colours, embedders, strict=False):
        series += _series(name, colour, places, dict(_tests(embedder.card)))
    published = {_name(test): test["kaiser_2017"] for e in embedders for test in e.card["few_shot"]}
    known = {name: (finite(share), None) for name, share in published.items()}
    series += _series(PUBLISHED, GREY, places, known, marker="diamond")
    if not series:
        return None
    return Chart(
        title="Drawings of unseen characters recognised",
        x_label="test",
        y_label="share recognised",
        series=series,
        categories=list(places),
        dodge=DODGE / len(series),
        note=NOTE,
    )


def _tests(card: Tested) -> Iterator[tuple[str, tuple[float | None, Interval | None]]]:
    for test in card["few_shot"]:
        yield _name(test), _measured(test)
    runs = card["one_shot_runs"]
    yield f"Lake’s {runs['runs']} one-shot runs", _measured(runs)


def _name(test: FewShot) -> str:
    means = "" if test["rule"] == "nearest" else f", {test['rule'].replace('-', ' ')}"
    return f"{test['way']}-way {test['shot']}-shot{means}"


def _measured(test: FewShot | OneShotRuns) -> tuple[float | None, Interval | None]:
    share, error = finite(test["accuracy"]), finite(test["standard_error"])
    if share is None or error is None:
        return share, None
    return share, (share - NORMAL * error, share + NORMAL * error)


def _series(
    name: str,
    colour: str,
    places: Mapping[str, float],
    found: Mapping[str, tuple[float | None, Interval | None]],
    **looks: Any,
) -> list[Series]:
    known = {places[n]: each for n, each in found.items() if n in places and each[0] is not None}
    if not known:
        return []
    means, ends = (list(each) for each in zip(*known.values(), strict=True))
    return [Series(name, colour, list(known), means, ends, **looks)]


def pixels(embedders: Sequence[Embedder]) -> Markup | None:
    """Say how far one comes without an embedder, if a card does."""
    found = (finite(at(each.card, "pixels_20_way_1_shot")) for each in embedders)
    share = next((each for each in found if each is not None), None)
    if share is None:
        return None
    said = f"By their pixels alone, {share:.0%} would be recognised (20-way 1-shot)."
    return tag("p", said)


def origin_of(embedder: Embedder, name: str) -> Origin:
    """Return where a card comes from, as far as it says."""
    settings = at(embedder.card, "settings")
    told = {fact: at(embedder.card, fact) for fact in FACTS}
    facts = {n: each for n, each in told.items() if isinstance(each, str | int | float)}
    if (seconds := finite(embedder.card["seconds"])) is not None:
        facts["training"] = f"{seconds:.0f} s"
    return Origin(name, settings if isinstance(settings, dict) else {}, facts)
