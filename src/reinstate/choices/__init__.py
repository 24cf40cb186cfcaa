"""The choice model: which strategies explain choices in the two-step task."""

from reinstate.choices.participants import fit_choices
from reinstate.choices.simulated import Design, design_of, recovery, simulate
from reinstate.choices.tables import read_choices

__all__ = ["Design", "design_of", "fit_choices", "read_choices", "recovery", "simulate"]
