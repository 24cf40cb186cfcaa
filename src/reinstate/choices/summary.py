"""What a fit found, as text."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, cast

from reinstate.choices.documents import ChoiceFit, ModelRow, Recovery
from reinstate.choices.fits import interval_and_p
from reinstate.choices.model import NAMES
from reinstate.choices.stay import ORDER, PANELS

SHORT = {
    "incremental_uncued": "previous, uncued",
    "incremental_cued": "previous, cued",
    "episodic": "cued episode",
}


def _table(title: str, left: list[str], right: list[str], rows: Sequence[Sequence[str]]) -> str:
    """Write a table, with columns justified to the left and to the right."""
    header = [*left, *right]
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = [title]
    for row in (header, ["-" * width for width in widths], *rows):
        cells = [
            f"{cell:{'<' if place < len(left) else '>'}{width}}"
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def summary(document: ChoiceFit) -> str:
    """Write everything for a person to read: weights, models compared, stay probabilities."""
    parts = [_data(document["data"]), _weights(document)]
    for part, models in document.get("comparison", {}).items():
        parts.append(_comparison(part, models, document["data"]["participants"]))
    parts += [_stay(document), "\n".join(f"warning: {text}" for text in document["warnings"])]
    return "\n\n".join(part for part in parts if part)


def _data(data: Mapping[str, Any]) -> str:
    """Say how much there is, and which state each action is taken to lead to."""
    things = {n: data[n] for n in ("participants", "sessions", "episodes")}
    counts = [f"{n:,} {name.removesuffix('s') if n == 1 else name}" for name, n in things.items()]
    led = [f"{a} → {s}" for a, s in zip(data["actions"], data["states"], strict=True)]
    played = f"{', '.join(counts)}, {data['cued']:,} of them cued"
    return f"{played}\ntaken as common: {', '.join(led)}"


def _weights(document: ChoiceFit) -> str:
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
    return _table(title, ["weight"], columns, [row for row in rows if any(row[1:])])


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


# Columns: their titles, and how a row of the comparison fills them.
BY_BIC = {
    "sum of AIC": "{aic:,.1f}",
    "of BIC": "{bic:,.1f}",
    "above best": "{delta_bic:,.1f}",
    "best for": "{best_for} of {people}",
}
BY_LOO = {
    "elpd (LOO)": "{elpd_loo:.1f}",
    "SE": "{se:.1f}",
    "below best": "{delta_elpd:.1f}",
    "its SE": "{delta_se:.1f}",
    "k > 0.7": "{high_k}",
}


def _comparison(part: str, models: Sequence[ModelRow], people: int) -> str:
    """Make one row per model, the best first."""
    columns = BY_LOO if "elpd_loo" in models[0] else BY_BIC
    rows = []
    for row in models:
        known: Any = defaultdict(float, row, people=people)
        rows.append([row["model"], *(cell.format_map(known) for cell in columns.values())])
    return _table(f"models of {part} choices, the best first", ["model"], [*columns], rows)


def _stay(document: ChoiceFit) -> str:
    """Make one row per outcome: how often its action is chosen again, and by the model."""
    rows, every = [], cast(Any, document)
    for panel in PANELS:
        own, predicted = every["stay"][panel], every.get("stay_predicted", {}).get(panel)
        for place, outcome in enumerate(ORDER):
            if own["mean"][place] is not None:
                model = _with_ends(predicted, place) if predicted else ""
                what = [SHORT[panel], outcome.replace("-", " ")]
                rows.append([*what, _with_ends(own, place), model])
    left, right = ["episode", "outcome"], ["same action", "by the model"]
    return _table("how often its action is chosen again", left, right, rows)


def _with_ends(panel: Mapping[str, Any], place: int) -> str:
    """Write a share with its interval."""
    mean, ci95 = panel["mean"][place], panel["ci95"][place]
    if mean is None:
        return ""
    return _share(mean) + (" [{}, {}]".format(*map(_share, ci95)) if ci95 else "")


def _share(value: float) -> str:
    return f"{min(max(value, 0.0), 1.0):.3f}".removeprefix("0")  # an interval may leave 0 … 1


def recovery_summary(document: Recovery) -> str:
    """Write how well each weight of each part comes back."""
    played = "{participants} agents, {sessions} × {episodes} episodes each, {cued:.0%} cued"
    rows = [
        [row["strategy"], row["part"], "" if (r := row["correlation"]) is None else f"{r:.3f}",
         f"{row['bias']:.3f}", f"{row['rmse']:.3f}", f"{row['coverage']:.0%}"]
        for row in document["weights"]
    ]  # fmt: skip
    right = ["r", "bias", "RMSE", "in 95%"]
    share, n = document["coverage"], document["intervals"]
    return "\n".join(
        [
            f"{played}; p(common) {{p_common:.2f}}".format(**document["design"]),
            "",
            _table("true and recovered weights", ["weight", "episodes"], right, rows),
            "",
            f"{share:.1%} of {n} intervals of 95% hold the true weight",
        ]
    )
