"""Which drawing an embedding is of: contexts looked up in the table that they come from."""

from functools import cache

import numpy as np

from reinstate.tasks.drawings import NUM_DRAWINGS, embeddings


@cache
def _places() -> dict[bytes, int]:
    flat = embeddings().reshape(-1, embeddings().shape[-1])
    return {row.tobytes(): place for place, row in enumerate(flat)}


def recognise(contexts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Class and drawing of each context (…, size), both (…); a KeyError if it is no drawing."""
    flat = np.ascontiguousarray(contexts).reshape(-1, contexts.shape[-1])
    places = np.array([_places()[row.tobytes()] for row in flat]).reshape(contexts.shape[:-1])
    return places // NUM_DRAWINGS, places % NUM_DRAWINGS
