"""What fits of choices hold: the documents of `fit_choices`, fit.json and recovery.json."""

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
    delta_bic: float  # positive: speaks for the strategy


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
    leave_one_out: list[StrategyWorth]
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
    per_seed: list[float]  # one per participant
    se: float | None
    sd: float  # over participants, of the hierarchical model
    t: float | None  # against 0
    p: float | None


class Weights(TypedDict):
    """What any model finds."""

    rows: list[WeightRow]
    fits: list[FitRow]
    group: dict[str, dict[str, GroupWeight]]  # by part and weight
    warnings: list[str]


class StayPanel(TypedDict):
    """How often an action is chosen again; lists run over `stay.ORDER`."""

    mean: list[float | None]
    ci95: list[Any]
    per_participant: list[list[float | None]]
    episodes: NotRequired[list[int]]


class ChoiceFit(Weights):
    """What `fit_choices` returns; fit.json also has `data`, and how it was made."""

    model: str
    stay: dict[str, Any]  # a StayPanel for each of `stay.PANELS`, and their `order`
    data: NotRequired[dict[str, Any]]  # what the table held


class Recovery(TypedDict):
    """What fits make of simulated agents."""

    model: str
    rows: list[WeightRow]  # each with the true weight
    coverage: float  # share of 95% intervals that hold the true weight
    intervals: int
