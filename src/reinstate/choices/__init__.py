"""The choice model: which strategies explain choices in the two-step task."""

from reinstate.choices.agents import agents_like, recovery
from reinstate.choices.fits import fit_choices
from reinstate.choices.model import Design, design_of, simulate
from reinstate.choices.tables import read_choices

__all__ = [
    "Design",
    "agents_like",
    "design_of",
    "fit_choices",
    "read_choices",
    "recovery",
    "simulate",
]
