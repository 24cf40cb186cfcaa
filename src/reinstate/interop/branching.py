"""A branch that stays one under `vmap`."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jax.custom_batching import custom_vmap


def switch(index: Array, branches: Sequence[Callable[..., Any]], *args: Any) -> Any:
    """Call `branches[index](index, *args)`.

    Under `vmap`, `jax.lax.switch` computes all branches for all lanes and chooses. Here all lanes,
    of nested `vmap` too, take the branch of the largest index among them. So a branch must also do
    right by lanes of a smaller index, which it is told.
    """
    of_lanes = [jax.vmap(branch) for branch in branches]
    one = custom_vmap(lambda index, *args: jax.lax.switch(index, branches, index, *args))
    lanes = custom_vmap(lambda index, *args: jax.lax.switch(jnp.max(index), of_lanes, index, *args))

    @one.def_vmap
    def _(size: int, batched: Sequence[Any], *args: Any) -> tuple[Any, Any]:
        return _all_batched(lanes(*_with_axis(size, batched, args)))

    @lanes.def_vmap
    def _(size: int, batched: Sequence[Any], *args: Any) -> tuple[Any, Any]:
        args = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), _with_axis(size, batched, args))
        return _all_batched(jax.tree.map(lambda x: x.reshape(size, -1, *x.shape[1:]), lanes(*args)))

    return one(index, *args)


def _with_axis(size: int, batched: Sequence[Any], args: Any) -> Any:
    """Give a leading axis to those arrays that have none."""
    return jax.tree.map(
        lambda has, x: x if has else jnp.broadcast_to(x, (size, *x.shape)), tuple(batched), args
    )


def _all_batched(results: Any) -> tuple[Any, Any]:
    return results, jax.tree.map(lambda _: True, results)
