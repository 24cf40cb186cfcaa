"""The choice model: which strategies explain choices in the two-step task."""

from reinstate.choices.fits import fit_choices, recovery
from reinstate.choices.model import Design, design_of, simulate
from reinstate.choices.tables import read_choices

__all__ = ["Design", "design_of", "fit_choices", "read_choices", "recovery", "simulate"]
