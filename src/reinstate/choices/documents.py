"""What fits of choices hold: the documents of `fit_choices`, fit.json and recovery.json."""

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict, cast


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


class StrategyWorth(TypedDict):
    """What a fit loses without a strategy."""

    strategy: str
    delta_log_likelihood: float
    p: float  # of the likelihood ratio
    delta_aic: NotRequired[float]  # positive: speaks for the strategy
    delta_bic: float


class FitRow(TypedDict, total=False):
    """The fit of one participant's part; of the hierarchical model, of all participants."""

    participant: str
    part: str
    n: int  # choices
    log_likelihood: float
    aic: float
    bic: float
    mcfadden_r2: float | None
    separated: bool  # some weight has no finite maximum
    identified: bool  # no predictor follows from the others
    without: list[StrategyWorth]  # one strategy left out at a time
    seed: int  # from here on: of the hierarchical sampler
    chains: int
    warmup: int
    draws: int
    r_hat: float  # the largest
    n_eff: float  # the smallest
    divergences: int


class GroupWeight(TypedDict, total=False):
    """One weight over participants."""

    mean: float
    ci95: list[float] | None
    per_participant: list[float]
    se: float | None
    sd: float  # over participants, of the hierarchical model
    t: float | None  # against 0
    p: float | None


def per_participant(weight: Mapping[str, Any]) -> list[float]:
    """Return a weight of each participant; earlier versions called them seeds."""
    found: list[float] = weight["per_participant" if "per_participant" in weight else "per_seed"]
    return found


class Weights(TypedDict):
    """What any model finds."""

    rows: list[WeightRow]
    fits: list[FitRow]
    group: dict[str, dict[str, GroupWeight]]  # by part and weight
    warnings: list[str]


class ModelRow(TypedDict, total=False):
    """A model among its rivals, in uncued or in cued episodes."""

    model: str
    log_likelihood: float  # sums over participants; from here on: of maximum-likelihood fits
    aic: float
    bic: float
    delta_bic: float  # to the lowest
    best_for: int  # how many participants have their lowest BIC here
    elpd_loo: float  # from here on: of the hierarchical model, see `posterior`
    se: float
    p_loo: float
    delta_elpd: float  # to the highest
    delta_se: float
    high_k: int  # choices whose Pareto k is above 0.7


class StayPanel(TypedDict):
    """How often an action is chosen again; lists run over `stay.ORDER`."""

    mean: list[float | None]
    ci95: list[Any]
    per_participant: list[list[float | None]]
    pooled: NotRequired[list[float | None]]  # over all episodes, whoever played them
    episodes: NotRequired[list[int]]


class ChoiceFit(Weights):
    """What `fit_choices` returns; fit.json also has `data`, and how it was made."""

    model: str
    stay: dict[str, Any]  # a StayPanel for each of `stay.PANELS`, and their `order`
    stay_predicted: NotRequired[dict[str, Any]]  # the same by the fitted model; see `predicted`
    comparison: NotRequired[dict[str, list[ModelRow]]]  # by part, the best first
    beside: NotRequired["dict[str, ChoiceFit]"]  # other fits that figures show too, by label
    data: NotRequired[dict[str, Any]]  # what the table held


class RecoveredWeight(TypedDict):
    """How well one weight of one part is recovered."""

    part: str
    strategy: str
    correlation: float | None  # of true and estimated weights; None where either is constant
    bias: float  # mean error
    rmse: float
    coverage: float  # share of 95% intervals that hold the true weight


class Recovery(TypedDict):
    """What fits make of simulated agents."""

    model: str
    design: dict[str, float]  # participants, sessions, episodes, p_common, share cued
    weights: list[RecoveredWeight]
    rows: list[WeightRow]  # each with the true weight
    coverage: float  # share of 95% intervals that hold the true weight
    intervals: int
