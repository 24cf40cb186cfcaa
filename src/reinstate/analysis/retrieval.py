"""Does the memory find what it is asked for?"""

import numpy as np

from reinstate.analysis.intervals import over_seeds
from reinstate.analysis.results import OverSeeds
from reinstate.evaluation import Record


def retrieval_accuracy(record: Record) -> OverSeeds | None:
    """Return how often a context met before brought back a state of the same context.

    Nothing for an agent without a memory, or where no context comes back.
    """
    retrieved = np.asarray(record.retrieved)[..., 0]  # (seeds, epochs, episodes)
    context, known = np.asarray(record.context_id), np.asarray(record.exposure) > 0
    if np.all(retrieved < 0) or not known.any(axis=(1, 2)).all():
        return None
    same = np.take_along_axis(context, np.maximum(retrieved, 0), axis=-1) == context
    right = same & (retrieved >= 0)
    return over_seeds(np.array([r[k].mean() for r, k in zip(right, known, strict=True)]))
