"""The choice model: which strategies explain choices in the two-step task."""

from reinstate.choices.participants import fit_choices
from reinstate.choices.simulated import recovery, simulate
from reinstate.choices.tables import read_choices

__all__ = ["fit_choices", "read_choices", "recovery", "simulate"]
