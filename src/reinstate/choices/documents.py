"""What fits of choices hold, fit.json and recovery.json, and how they are told in text.

A fit.json may be anybody's, so it is checked by these types before it is shown or simulated.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Annotated, Any, NotRequired, Required, TypedDict, cast

from msgspec import Meta

from reinstate.analysis.results import Pair, Probability
from reinstate.choices.model import NAMES

ORDER = ("rewarded-common", "rewarded-uncommon", "unrewarded-common", "unrewarded-uncommon")
PANELS = ("incremental_uncued", "incremental_cued", "episodic")

Model = Annotated[str, Meta(pattern="^(one-back|learned|hierarchical)$")]
Two = Annotated[list[str], Meta(min_length=2, max_length=2)]
FOUR = Meta(min_length=4, max_length=4)  # outcomes, in the order of `ORDER`


class WeightRow(TypedDict):
    """One weight of one participant; null where a number does not apply."""

    participant: str  # or "group mean", "group sd" of the hierarchical model
    part: str  # uncued or cued
    strategy: str  # the weight's name
    estimate: float
    se: float | None
    low: float | None  # ends of the 95% interval
    high: float | None
    z: float | None
    p: float | None
    r_hat: NotRequired[float]  # of the hierarchical model
    n_eff: NotRequired[float]
    true: NotRequired[float]  # of simulated agents


ROW = tuple(WeightRow.__annotations__)


def weight_row(participant: str, part: str, strategy: str, *numbers: float | None) -> WeightRow:
    """Make a row, with numbers in the order of `ROW`, as many as apply."""
    values = (participant, part, strategy, *numbers)
    return cast(WeightRow, dict(zip(ROW, values, strict=False)))


# A fit of one participant's part: n, log_likelihood, aic, bic, mcfadden_r2, whether it is separated
# and identified, and what is lost `without` each strategy (p is the likelihood ratio's). Of the
# hierarchical model, of all participants: how it was sampled, and how well the chains mix.
Row = dict[str, Any]


class GroupWeight(TypedDict):
    """One weight over participants."""

    mean: float
    ci95: Pair | None
    per_participant: Any
    participants: NotRequired[list[str]]  # whose they are, in that order
    se: NotRequired[float | None]
    sd: NotRequired[float]  # over participants, of the hierarchical model
    t: NotRequired[float | None]  # against 0
    p: NotRequired[float | None]


class ModelRow(TypedDict, total=False):
    """A model among its rivals, in uncued or in cued episodes; see `comparison`."""

    model: Required[str]
    log_likelihood: float  # sums over participants; from here on: of maximum-likelihood fits
    aic: float
    bic: float
    delta_bic: float  # to the lowest
    best_for: int  # how many participants have their lowest BIC here
    frequency: float  # how common it is among people, by random effects of BIC
    exceedance: float  # the protected probability that it is the commonest
    elpd_loo: float  # from here on: of the hierarchical model
    se: float
    p_loo: float
    delta_elpd: float  # to the highest
    delta_se: float
    high_k: int  # choices whose Pareto k is above 0.7


class StayPanel(TypedDict):
    """How often an action is chosen again, by outcome."""

    mean: Annotated[list[float | None], FOUR]
    ci95: Annotated[list[Pair | None], FOUR]
    per_participant: list[list[float | None]]
    pooled: NotRequired[list[float | None]]  # over all episodes, whoever played them
    episodes: NotRequired[list[int]]


class Stay(TypedDict):
    """The panels of `PANELS`."""

    order: list[str]  # of the outcomes
    incremental_uncued: StayPanel
    incremental_cued: StayPanel
    episodic: StayPanel


class Designed(TypedDict):
    """How much was played, and of what kind; see `model.Design`."""

    participants: Annotated[int, Meta(ge=1)]
    sessions: Annotated[int, Meta(ge=1)]
    episodes: Annotated[int, Meta(ge=1)]
    p_common: Probability
    cued: Probability


class Data(TypedDict):
    """What a table held."""

    file: str | None
    participants: int
    sessions: int
    episodes: int
    cued: int
    actions: Two
    states: Two
    skipped: int
    bad_rows: list[str]
    design: Designed


class ChoiceFit(TypedDict):
    """What `fit_choices` returns; fit.json also has how it was made."""

    model: Model
    rows: list[WeightRow]
    fits: list[Row]
    group: dict[str, dict[str, GroupWeight]]  # by part and weight
    warnings: list[str]
    stay: Stay
    stay_predicted: NotRequired[Stay]  # the same by the fitted model
    comparison: NotRequired[dict[str, Annotated[list[ModelRow], Meta(min_length=1)]]]  # by part
    beside: NotRequired["dict[str, ChoiceFit]"]  # other fits that figures show too, by label
    data: NotRequired[Data]


# What fits make of simulated agents: rows, each with the true weight; how well weights come back,
# by part (correlation is None where either is constant); coverage, the share of 95% intervals that
# hold the true weight.
Recovery = dict[str, Any]


def interval_and_p(
    document: ChoiceFit, part: str, name: str
) -> tuple[list[float] | None, float | None]:
    """Return those of a weight's mean; for a single participant, those of the fit itself."""
    weight = document["group"][part][name]
    if weight["ci95"] is not None:
        return weight["ci95"], weight.get("p")
    for row in document["rows"]:
        if (row["part"], row["strategy"]) == (part, name):
            low, high = row["low"], row["high"]
            return None if low is None or high is None else [low, high], row["p"]
    return None, None


def _table(title: str, left: list[str], right: list[str], rows: Sequence[Sequence[str]]) -> str:
    """Write a table, with columns justified to the left and to the right."""
    header = [*left, *right]
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    sides = "<" * len(left) + ">" * len(right)
    lines = [title]
    for row in (header, ["-" * width for width in widths], *rows):
        cells = (f"{cell:{side}{n}}" for cell, side, n in zip(row, sides, widths, strict=True))
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def summary(document: ChoiceFit) -> str:
    """Write everything for a person to read: weights, models compared, stay probabilities."""
    data, stay = document["data"], document["stay"]
    counts = [_counted(data[name], name) for name in ("participants", "sessions", "episodes")]
    led = [f"{a} → {s}" for a, s in zip(data["actions"], data["states"], strict=True)]
    played = f"{', '.join(counts)}, {data['cued']:,} of them cued"
    parts = [f"{played}\ntaken as common: {', '.join(led)}", _weights_table(document)]
    for part, models in document.get("comparison", {}).items():
        parts.append(_comparison(part, models, data["participants"]))
    parts += [_stay_table(stay, document.get("stay_predicted"))]
    parts += ["\n".join(f"warning: {text}" for text in document["warnings"])]
    return "\n\n".join(part for part in parts if part)


def _counted(n: int, things: str) -> str:
    return f"{n:,} {things.removesuffix('s') if n == 1 else things}"


def _weights_table(document: ChoiceFit) -> str:
    """Make one row per weight: mean over participants with its interval, and p, by part."""
    group, rows = document["group"], []
    columns = [name for part in group for name in (f"{part} [95%]", "p")]
    for name in (*NAMES["cued"], "alpha"):
        cells = []
        for part, weights in group.items():
            ci95, p = interval_and_p(document, part, name) if name in weights else (None, None)
            mean = _with_ends(weights[name]["mean"], ci95, "{:.2f}") if name in weights else ""
            small = "" if p is None else "<.001" if p < 0.001 else f"{p:.3f}".removeprefix("0")
            cells += [mean, small]
        rows += [[name, *cells]] if any(cells) else []
    if document["model"] == "hierarchical":
        title = "group mean, and where it lies with 95% probability"
    elif document["data"]["participants"] == 1:
        title = "weights of the only participant; p of z"
    else:
        title = "mean weights over participants; p of Student's t"
    return _table(title, ["weight"], columns, rows)


def _with_ends(mean: float | None, ci95: Sequence[float] | None, number: str) -> str:
    """Write a mean with its interval."""
    if mean is None:
        return ""
    ends = ", ".join(map(number.format, ci95 or ()))
    return number.format(mean) + (f" [{ends}]" if ends else "")


# Columns: their titles, and how a row of the comparison fills them.
BY_BIC = {
    "sum of AIC": "{aic:,.1f}",
    "of BIC": "{bic:,.1f}",
    "above best": "{delta_bic:,.1f}",
    "best for": "{best_for} of {people}",
    "pxp": "{exceedance:.2f}",
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
    columns, note = BY_BIC, "; pxp: protected exceedance"
    if "elpd_loo" in models[0]:
        columns, note = BY_LOO, ""
    shown: Any = [defaultdict(float, row, people=people) for row in models]
    rows = [[row["model"], *(cell.format_map(row) for cell in columns.values())] for row in shown]
    title = f"models of {part} choices, the best first{note}"
    return _table(title, ["model"], [*columns], rows)


def _stay_table(stay: Stay, predicted: Stay | None) -> str:
    """Make one row per outcome: how often its action is chosen again, and by the model."""
    shown = {"incremental_uncued": "previous, uncued", "incremental_cued": "previous, cued"}
    rows = []
    for panel in PANELS:
        for place, outcome in enumerate(ORDER):
            cells = [_share(found, panel, place) for found in (stay, predicted)]
            what = [shown.get(panel, "cued episode"), outcome.replace("-", " ")]
            rows += [[*what, *cells]] if cells[0] else []
    left, right = ["episode", "outcome"], ["same action", "by the model"]
    return _table("how often its action is chosen again", left, right, rows)


def _share(stay: Any, panel: str, place: int) -> str:
    """Write a share with its interval, which may leave 0 … 1."""
    mean, ci95 = (stay[panel][name][place] for name in ("mean", "ci95")) if stay else (None, None)
    ends = ci95 and [min(max(end, 0.0), 1.0) for end in ci95]
    return re.sub(r"\b0\.", ".", _with_ends(mean, ends, "{:.3f}"))


def recovery_summary(document: Recovery) -> str:
    """Write how well each weight of each part comes back."""
    played = "{participants} agents, {sessions} × {episodes} episodes each, {cued:.0%} cued"
    rows = []
    for row in document["weights"]:
        r = "" if row["correlation"] is None else f"{row['correlation']:.3f}"
        errors = [f"{row['bias']:.3f}", f"{row['rmse']:.3f}", f"{row['coverage']:.0%}"]
        rows.append([row["strategy"], row["part"], r, *errors])
    heading = f"{played}; p(common) {{p_common:.2f}}".format(**document["design"])
    left, right = ["weight", "episodes"], ["r", "bias", "RMSE", "in 95%"]
    held = f"{document['coverage']:.1%} of {document['intervals']} intervals of 95% hold"
    table = _table("true and recovered weights", left, right, rows)
    return f"{heading}\n\n{table}\n\n{held} the true weight"
