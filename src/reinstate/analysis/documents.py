"""Earlier names of what checks documents, for rooms that have not moved yet."""

from reinstate.analysis.results import Array, Pair, Probability
from reinstate.files import check as checked
from reinstate.files import read_document

__all__ = ["Array", "Pair", "Probability", "checked", "read_document"]
