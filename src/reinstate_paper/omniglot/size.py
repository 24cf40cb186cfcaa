"""How much memory pretraining needs: what cannot fit is refused before anything is fetched."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from reinstate.runs.size import Option, Part, bytes_of, require_fits, shapes_alone
from reinstate_paper.omniglot.embedder import SIZE, Convolutions
from reinstate_paper.omniglot.lifelong import LifelongMemory
from reinstate_paper.omniglot.teaching import Pretraining, Teacher

CHARACTERS, DRAWERS = 964, 20  # of the background set


def require_room(settings: Pretraining) -> None:
    """Refuse settings that take more memory than there is. Nothing is computed."""
    with shapes_alone():
        require_fits(_parts(settings), 1, _options(settings))


def _parts(settings: Pretraining) -> tuple[Part, ...]:
    teacher, network = Teacher(settings), settings.network
    state = jax.eval_shape(teacher.init)
    memory = jax.eval_shape(partial(settings.memory.empty, network.embedding_size))
    drawings = jax.ShapeDtypeStruct((settings.batch, SIZE, SIZE), jnp.float32)
    labels = jax.ShapeDtypeStruct((settings.batch,), jnp.int32)

    def differentiate(params: Any, drawings: Any, labels: Any, memory: Any, key: Any) -> Any:
        def loss(params: Any) -> Any:
            return teacher._loss(params, drawings, labels, memory, key)

        return jax.vjp(loss, params, has_aux=True)[1:]

    kept = jax.eval_shape(differentiate, state.params, drawings, labels, memory, state.key)
    return (
        Part("weights and what the optimiser keeps", 3 * bytes_of(state)),
        Part("the memory", 3 * bytes_of(memory)),  # before, after, and as it is searched
        Part("what one update back-propagates", 2 * bytes_of(kept)),
        Part("the drawings", 2 * CHARACTERS * DRAWERS * SIZE * SIZE),
    )


def _options(settings: Pretraining) -> Iterator[Option]:
    network, usual = settings.network, Convolutions()
    yield Option("--batch", settings.batch, Pretraining.batch)
    yield Option("--network.channels", max(network.channels), max(usual.channels))
    yield Option("--network.embedding-size", network.embedding_size, usual.embedding_size)
    yield Option("--memory.slots", settings.memory.slots, LifelongMemory.slots)
