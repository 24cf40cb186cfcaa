"""What fits of choices hold: the documents of `fit_choices`, fit.json and recovery.json.

A fit.json may be anybody's, so it is checked by these types before it is shown or simulated.
"""

from typing import Annotated, Any, NotRequired, Required, TypedDict, cast

from msgspec import Meta

from reinstate.analysis.results import Pair, Probability

Model = Annotated[str, Meta(pattern="^(one-back|learned|hierarchical)$")]
Two = Annotated[list[str], Meta(min_length=2, max_length=2)]
FOUR = Meta(min_length=4, max_length=4)  # outcomes, in the order of `stay.ORDER`


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
    se: NotRequired[float | None]
    sd: NotRequired[float]  # over participants, of the hierarchical model
    t: NotRequired[float | None]  # against 0
    p: NotRequired[float | None]


class Weights(TypedDict):
    """What any model finds."""

    rows: list[WeightRow]
    fits: list[Row]
    group: dict[str, dict[str, GroupWeight]]  # by part and weight
    warnings: list[str]


class ModelRow(TypedDict, total=False):
    """A model among its rivals, in uncued or in cued episodes; see `comparison`."""

    model: Required[str]
    log_likelihood: float  # sums over participants; from here on: of maximum-likelihood fits
    aic: float
    bic: float
    delta_bic: float  # to the lowest
    best_for: int  # how many participants have their lowest BIC here
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
    """The panels of `stay.PANELS`."""

    order: list[str]  # of the outcomes
    incremental_uncued: StayPanel
    incremental_cued: StayPanel
    episodic: StayPanel


class Designed(TypedDict):
    """How much was played, and of what kind; see `simulated.Design`."""

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


class ChoiceFit(Weights):
    """What `fit_choices` returns; fit.json also has how it was made."""

    model: Model
    stay: Stay
    stay_predicted: NotRequired[Stay]  # the same by the fitted model
    comparison: NotRequired[dict[str, Annotated[list[ModelRow], Meta(min_length=1)]]]  # by part
    beside: NotRequired["dict[str, ChoiceFit]"]  # other fits that figures show too, by label
    data: NotRequired[Data]


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
