"""The search space: four hyper-parameters of the learner that no array shape depends on."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from reinstate.errors import LARGEST_NUMBER, UserError
from reinstate.learner import A2C, Rates


class Candidate(NamedTuple):
    """One point of the search space, under the names of A2C."""

    learning_rate: float
    entropy_cost: float
    discount: float
    value_cost: float


@dataclass(frozen=True)
class Ranges:
    """Where candidates are drawn from, each hyper-parameter independently."""

    learning_rate: tuple[float, float] = (1e-3, 3e-2)
    """Lowest and highest learning rate; log-uniform in between."""
    entropy_cost: tuple[float, float] = (3e-3, 0.3)
    """Lowest and highest entropy cost at the start; log-uniform in between."""
    discount: tuple[float, ...] = (0.7, 0.8, 0.9, 1.0)
    """Discounts to choose from."""
    value_cost: tuple[float, ...] = (0.05, 0.2, 0.5, 1.0)
    """Weights of the value loss to choose from."""

    def __post_init__(self) -> None:
        for name in ("learning_rate", "entropy_cost"):
            low, high = getattr(self, name)
            if not 0 < low <= high <= LARGEST_NUMBER:
                rule = "must be two positive numbers, the lower first"
                raise UserError(f"ranges.{name} {rule}, not {low} {high}")
        for name, most, within in (
            ("discount", 1.0, "between 0 and 1"),
            ("value_cost", LARGEST_NUMBER, "0 or more"),
        ):
            if not getattr(self, name):
                raise UserError(f"ranges.{name} needs at least one number to choose from")
            for choice in getattr(self, name):
                if not 0 <= choice <= most:
                    raise UserError(f"ranges.{name} must be {within}, not {choice}")

    def draw(self, rng: np.random.Generator) -> Candidate:
        """Draw a candidate, rounded to what tables show so that it can be typed in again."""
        return Candidate(
            learning_rate=_log_uniform(rng, *self.learning_rate),
            entropy_cost=_log_uniform(rng, *self.entropy_cost),
            discount=float(rng.choice(self.discount)),
            value_cost=float(rng.choice(self.value_cost)),
        )


def _log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return float(f"{math.exp(rng.uniform(math.log(low), math.log(high))):.3g}")


def preset_candidate(learner: A2C) -> Candidate:
    """Return the candidate that stands for the learner's own settings."""
    return Candidate(*(getattr(learner, name) for name in Candidate._fields))


def rates_of(candidate: Candidate, learner: A2C) -> Rates:
    """Complete a candidate: rates fall to the same share of their start as the learner's own."""
    ends = {}
    for name in ("learning_rate", "entropy_cost"):
        own_start, own_end = getattr(learner, name), getattr(learner, f"{name}_end")
        start = getattr(candidate, name)
        ends[f"{name}_end"] = own_end * start / own_start if own_start else own_end
    return Rates(**candidate._asdict(), **ends)


def as_options(rates: Rates) -> list[str]:
    """Write rates as options of `reinstate train` and `reinstate reproduce`."""
    options = [[f"--learner.{n.replace('_', '-')}", f"{v:.6g}"] for n, v in rates._asdict().items()]
    return [word for option in options for word in option]
