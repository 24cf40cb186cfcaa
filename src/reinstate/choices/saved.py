"""A fit.json that may be anybody's: checked before it is shown beside another, or simulated."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NotRequired, TypedDict, cast

from reinstate.analysis.documents import Array, Pair, Probability, checked
from reinstate.choices.documents import ChoiceFit
from reinstate.choices.participants import MODELS
from reinstate.choices.reading import MOST_ROWS
from reinstate.choices.simulated import Design
from reinstate.choices.stay import ORDER, PANELS
from reinstate.errors import UserError, require_positive

HOLD, ADVICE = "hold a fit of choices", "name what reinstate fit-choices left"


class _Row(TypedDict):
    participant: str
    part: str
    strategy: str
    estimate: float
    low: NotRequired[float | None]
    high: NotRequired[float | None]
    p: NotRequired[float | None]


class _Weight(TypedDict):
    mean: float
    ci95: Pair | None
    per_participant: NotRequired[Array]
    p: NotRequired[float | None]


class _Panel(TypedDict):
    mean: list[float | None]
    ci95: list[Pair | None] | None


class _Stay(TypedDict):
    incremental_uncued: _Panel
    incremental_cued: _Panel
    episodic: _Panel


class _ByBic(TypedDict):
    model: str
    aic: float
    bic: float
    delta_bic: float
    best_for: int


class _ByLoo(TypedDict):
    model: str
    elpd_loo: float
    se: float
    delta_elpd: float
    delta_se: float
    high_k: int


class _Data(TypedDict):
    file: str | None
    participants: int
    sessions: int
    episodes: int
    cued: int
    actions: list[str]
    states: list[str]
    design: NotRequired[dict[str, Any]]


class _Saved(TypedDict):
    """What tables and figures show of a fit."""

    model: str
    data: _Data
    rows: list[_Row]
    group: dict[str, dict[str, _Weight]]
    warnings: list[str]
    stay: _Stay
    stay_predicted: NotRequired[_Stay]
    comparison: NotRequired[dict[str, list[dict[str, Any]]]]
    beside: NotRequired["dict[str, _Saved]"]


class _Design(TypedDict):
    participants: int
    sessions: int
    episodes: int
    p_common: Probability
    cued: Probability


def checked_fit(document: Any, path: Path) -> ChoiceFit:
    """Return what a file holds as a fit of choices; a UserError names what is wrong with it."""
    fit: Any = checked(_Saved, document, path, HOLD, ADVICE)
    for each in (fit, *fit.get("beside", {}).values()):
        for problem in _problems(each):
            raise UserError(f"{path} does not {HOLD} ({problem}): {ADVICE}")
    return cast(ChoiceFit, fit)


def _problems(fit: Any) -> Iterator[str]:
    """Say what types cannot: names are known, and lists that belong together are of one length."""
    if fit["model"] not in MODELS:
        yield f"model must be one of {', '.join(MODELS)}"
    for name in ("stay", "stay_predicted"):
        for panel in PANELS if name in fit else ():
            found = fit[name][panel]
            if {len(found["mean"]), len(found["ci95"] or ORDER)} != {len(ORDER)}:
                yield f"{name}.{panel} must have {len(ORDER)} means and intervals"
    if len(fit["data"]["actions"]) != len(fit["data"]["states"]):
        yield "data must have as many actions as states"
    if not all(fit.get("comparison", {"": [0]}).values()):
        yield "comparison must have a model in each part"
    for part, weights in fit["group"].items():
        for name in (name for name, weight in weights.items() if weight["ci95"] is None):
            rows = [row for row in fit["rows"] if (row["part"], row["strategy"]) == (part, name)]
            if len(rows) != 1 or not {"low", "high", "p"} <= rows[0].keys():
                yield f"group.{part}.{name} has neither an interval nor a participant of its own"


def checked_design(design: Any, path: Path) -> Design:
    """Return the design of a fit, if as much can be simulated."""
    if not isinstance(design, dict) or design.keys() != {*Design._fields}:
        raise UserError(f"{path} is of an earlier version: name the table, or fit it again")
    found = Design(**checked(_Design, design, path, HOLD, ADVICE))
    sizes = {name: getattr(found, name) for name in ("participants", "sessions", "episodes")}
    require_positive(**sizes)
    if found.participants * found.sessions * found.episodes > MOST_ROWS:
        raise UserError(f"{path} has a design of more than {MOST_ROWS:,} episodes: {ADVICE}")
    return found
