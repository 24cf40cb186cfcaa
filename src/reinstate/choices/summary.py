"""What a fit found, as tables of text: weights, models compared, stay probabilities."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from reinstate.choices.documents import ChoiceFit, ModelRow, Recovery
from reinstate.choices.model import NAMES
from reinstate.choices.participants import interval_and_p
from reinstate.choices.stay import ORDER, PANELS

SHORT = {
    "incremental_uncued": "previous, uncued",
    "incremental_cued": "previous, cued",
    "episodic": "cued episode",
}


class TextTable(NamedTuple):
    """A table, with columns justified to the left and to the right."""

    title: str
    left: list[str]
    right: list[str]
    rows: list[list[str]]

    def __str__(self) -> str:
        header, rows = [*self.left, *self.right], self.rows
        widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
        lines = [self.title]
        for row in (header, ["-" * width for width in widths], *rows):
            cells = [
                cell.ljust(width) if place < len(self.left) else cell.rjust(width)
                for place, (cell, width) in enumerate(zip(row, widths, strict=True))
            ]
            lines.append("  ".join(cells).rstrip())
        return "\n".join(lines)


def summary(document: ChoiceFit) -> str:
    """Write everything for a person to read, as plain text."""
    parts = ["\n".join(data_lines(document["data"])), *map(str, tables(document))]
    parts += ["\n".join(f"warning: {warning}" for warning in document["warnings"])]
    return "\n\n".join(part for part in parts if part)


def tables(document: ChoiceFit) -> Iterator[TextTable]:
    """Make the tables that there is something to put into."""
    yield weights_table(document)
    for part, models in document.get("comparison", {}).items():
        yield comparison_table(part, models, document["data"]["participants"])
    yield stay_table(document)


def data_lines(data: Mapping[str, Any]) -> list[str]:
    """Say how much there is, and which state each action is taken to lead to."""
    things = {n: data[n] for n in ("participants", "sessions", "episodes")}
    counts = [f"{n:,} {name.removesuffix('s') if n == 1 else name}" for name, n in things.items()]
    led = [f"{a} → {s}" for a, s in zip(data["actions"], data["states"], strict=True)]
    played = f"{', '.join(counts)}, {data['cued']:,} of them cued"
    return [played, f"taken as common: {', '.join(led)}"]


def weights_table(document: ChoiceFit) -> TextTable:
    """Make one row per weight: mean over participants with its interval, and p, by part."""
    group, tested = document["group"], document["model"] != "hierarchical"
    columns = [name for part in group for name in (f"{part} [95%]", "p")[: 1 + tested]]
    names = dict.fromkeys([*NAMES["cued"], *(name for part in group.values() for name in part)])
    rows = [
        [name, *(cell for part in group for cell in _cells(document, part, name)[: 1 + tested])]
        for name in names
    ]
    if not tested:
        title = "group mean, and where it lies with 95% probability"
    elif document["data"]["participants"] == 1:
        title = "weights of the only participant; p of z"
    else:
        title = "mean weights over participants; p of Student's t"
    return TextTable(title, ["weight"], columns, [row for row in rows if any(row[1:])])


def _cells(document: ChoiceFit, part: str, name: str) -> tuple[str, str]:
    """Write a mean with its interval, and p."""
    weight = document["group"][part].get(name)
    if weight is None:
        return "", ""
    ci95, p = interval_and_p(document, part, name)
    mean = f"{weight['mean']:.2f}" + (f" [{ci95[0]:.2f}, {ci95[1]:.2f}]" if ci95 else "")
    if p is None:
        return mean, ""
    return mean, "<.001" if p < 0.001 else f"{p:.3f}".removeprefix("0")


def comparison_table(part: str, models: Sequence[ModelRow], people: int) -> TextTable:
    """Make one row per model, the best first."""
    if "elpd_loo" in models[0]:
        title = f"models of {part} choices, the best first"
        right = ["elpd (LOO)", "SE", "below best", "SE", "k > 0.7"]
        rows = [
            [row["model"], *(f"{row[n]:.1f}" for n in _LOO), str(row["high_k"])]  # type: ignore[literal-required]
            for row in models
        ]
        return TextTable(title, ["model"], right, rows)
    title = f"models of {part} choices, the best first"
    rows = [
        [row["model"], f"{row['aic']:,.1f}", f"{row['bic']:,.1f}", f"{row['delta_bic']:,.1f}",
         f"{row['best_for']} of {people}"]
        for row in models
    ]  # fmt: skip
    return TextTable(title, ["model"], ["sum of AIC", "of BIC", "above best", "best for"], rows)


_LOO = ("elpd_loo", "se", "delta_elpd", "delta_se")


def stay_table(document: ChoiceFit) -> TextTable:
    """Make one row per outcome: how often its action is chosen again, and by the model."""
    rows = []
    for panel in PANELS:
        own, predicted = document["stay"][panel], document.get("stay_predicted", {}).get(panel)
        for place, outcome in enumerate(ORDER):
            if own["mean"][place] is not None:
                model = _with_ends(predicted, place) if predicted else ""
                what = [SHORT[panel], outcome.replace("-", " ")]
                rows.append([*what, _with_ends(own, place), model])
    left, right = ["episode", "outcome"], ["same action", "by the model"]
    return TextTable("how often its action is chosen again", left, right, rows)


def _with_ends(panel: Mapping[str, Any], place: int) -> str:
    """Write a share with its interval."""
    ends = panel["ci95"] or [None] * len(ORDER)
    mean, ci95 = panel["mean"][place], ends[place]
    if mean is None:
        return ""
    return _share(mean) + (" [{}, {}]".format(*map(_share, ci95)) if ci95 else "")


def _share(value: float) -> str:
    return f"{min(max(value, 0.0), 1.0):.3f}".removeprefix("0")  # an interval may leave 0 … 1


def recovery_table(document: Recovery) -> TextTable:
    """Make one row per weight of each part: how well it comes back."""
    rows = [
        [row["strategy"], row["part"], "" if (r := row["correlation"]) is None else f"{r:.3f}",
         f"{row['bias']:.3f}", f"{row['rmse']:.3f}", f"{row['coverage']:.0%}"]
        for row in document["weights"]
    ]  # fmt: skip
    title = "true and recovered weights"
    return TextTable(title, ["weight", "episodes"], ["r", "bias", "RMSE", "in 95%"], rows)
