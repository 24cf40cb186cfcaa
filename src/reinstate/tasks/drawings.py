"""Contexts that never come back exactly: drawings of Omniglot characters, as embeddings.

A context is a character class; each time it comes back, it shows a different drawing of that class.
The embedder (reinstate_paper.omniglot) was trained on none of these classes.
"""

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal, Self

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from reinstate import draws
from reinstate.errors import UserError, require_not_negative, require_positive, require_within
from reinstate.files import read_arrays, write_arrays
from reinstate.tasks.base import Bounds, RecurringWorld

NUM_CLASSES, NUM_DRAWINGS, EMBEDDING_SIZE = 659, 20, 128
SHIPPED = Path(__file__).with_name("embeddings.safetensors")
Classes = Literal["training", "evaluation"]
ARRAY = "embeddings"  # the only one in such a file


@cache
def embeddings() -> np.ndarray:
    """Load the embeddings of all shipped drawings once, unit vectors (classes, drawings, size)."""
    return load_embeddings()


def load_embeddings(path: Path = SHIPPED) -> np.ndarray:
    """Load embeddings from a file in half precision, normalised to unit vectors again."""
    if not path.is_file():
        raise UserError(f"{path} is no file: name one that reinstate pretrain wrote")
    arrays, _ = read_arrays(path, "restore it or name another")
    if set(arrays) != {ARRAY} or arrays[ARRAY].ndim != 3:
        raise UserError(
            f"{path} holds no embeddings: name an embeddings.safetensors of reinstate pretrain"
        )
    found = arrays[ARRAY].astype(np.float32)
    return found / np.linalg.norm(found, axis=-1, keepdims=True)


def save_embeddings(path: Path, embeddings: np.ndarray) -> None:
    """Write embeddings (classes, drawings, size) in half precision."""
    write_arrays(path, {ARRAY: embeddings.astype(np.float16)})


def split_classes(every: int) -> tuple[np.ndarray, np.ndarray]:
    """Split the classes into every n-th and all others; for 0, both parts are all classes."""
    numbers = np.arange(NUM_CLASSES)
    if not every:
        return numbers, numbers
    nth = numbers % every == every - 1
    return numbers[nth], numbers[~nth]


def require_split(**settings: int) -> None:
    """Refuse an n by which classes cannot be split in two parts."""
    for name, every in settings.items():
        if every < 0 or every == 1:
            raise UserError(f"{name} must be 0 (all classes for both) or at least 2, not {every}")
        require_not_negative(**{name: every})


def require_scale(scale: float) -> None:
    """Refuse a norm of embeddings whose square is no number, or is taken for 0."""
    require_positive(scale=scale)
    require_within(1e-6, 1e6, scale=scale)


def check_drawings(num_classes: int, exposures: int, available: int, fix: str) -> None:
    """Refuse an epoch that needs more classes, or more drawings per class, than there are."""
    if num_classes > available:
        raise UserError(
            f"{num_classes} classes are needed and there are {available} to draw from: {fix}"
        )
    if exposures > NUM_DRAWINGS:
        raise UserError(
            f"a class may come back {exposures} times and has {NUM_DRAWINGS} drawings:"
            " lower repeats"
        )


def drawings_of(key: Array, which: Array, index: Array, exposure: Array) -> Array:
    """Draw what the episodes of an epoch show, without replacement within a class.

    Episode n shows class which[index[n]] for the exposure[n]-th time, from 0.
    """
    chance = jax.random.bits(key, (which.shape[0], NUM_DRAWINGS), jnp.uint32)
    order = jnp.argsort(chance, axis=1)  # of each class's drawings
    return jnp.asarray(embeddings())[which[index], order[index, exposure]]


@dataclass(frozen=True)
class DrawingWorld(RecurringWorld):
    """A world whose contexts are Omniglot classes."""

    classes: Classes = "training"
    """Classes that contexts come from: agents learn on the first, are evaluated on the second."""
    held_out: int = 3
    """Every n-th class is held out for evaluation; 0: training and evaluation use all classes."""
    scale: float = 1.0
    """Norm of a drawing's embedding; cosine recall ignores it, L2RL+Context does not."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_scale(self.scale)
        require_split(held_out=self.held_out)
        fewest = min(len(part) for part in split_classes(self.held_out))
        fix = "lower the number of contexts, or held_out"
        check_drawings(self.sequence.max_tasks, self.max_exposures, fewest, fix)

    @property
    def pool(self) -> np.ndarray:
        """The classes that contexts come from."""
        held_out, others = split_classes(self.held_out)
        return held_out if self.classes == "evaluation" else others

    @property
    def context_size(self) -> int:
        return EMBEDDING_SIZE

    def bounds(self) -> Bounds:
        return Bounds(context=(-self.scale, self.scale))

    def for_evaluation(self) -> Self:
        """Return the world whose classes are the held-out ones."""
        return replace(self, classes="evaluation")

    def contexts_of(self, key: Array, index: Array, exposure: Array) -> Array:
        class_key, drawing_key = jax.random.split(key)
        which = draws.shuffle(class_key, jnp.asarray(self.pool))[: self.sequence.max_tasks]
        return self.scale * drawings_of(drawing_key, which, index, exposure)
