"""The choice model: which strategies explain choices in the two-step task."""

from reinstate.choices.fits import fit_choices
from reinstate.choices.model import Design, design_of
from reinstate.choices.simulated import recovery, simulate
from reinstate.choices.tables import read_choices

__all__ = ["Design", "design_of", "fit_choices", "read_choices", "recovery", "simulate"]
