"""A cell's weights as a file that JAX and PyTorch both read.

It is a safetensors file, so that reading it executes nothing. It holds

    weight   (input_size + hidden_size, gates × hidden_size): W_x above W_h
    bias     (gates × hidden_size,)

and as metadata, under `reinstate-cell-1`, the order of the gates in both: "i f o c_in r", or
"i f o c_in" in the plain LSTM. `reinstate.interop.torch` has functions of the same names for its
own cell.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import ml_dtypes  # noqa: F401  (NumPy's bfloat16)
import numpy as np

from reinstate.errors import UserError
from reinstate.files import read_arrays, write_arrays

if TYPE_CHECKING:
    import reinstate.cell

FORMAT = "reinstate-cell-1"
ORDERS = {True: "i f o c_in r", False: "i f o c_in"}  # episodic or not → gates, block by block


class Weights(NamedTuple):
    """What makes a cell, as arrays of NumPy, JAX or PyTorch."""

    weight: Any
    bias: Any
    episodic: bool

    @property
    def sizes(self) -> tuple[int, int]:
        """The size of an input and of the hidden state."""
        hidden = int(self.bias.shape[0]) // num_gates(self.episodic)
        return int(self.weight.shape[0]) - hidden, hidden


def num_gates(episodic: bool) -> int:
    """Return how many blocks of columns the weights have, c_in's among them."""
    return len(ORDERS[episodic].split())


def save_cell(path: str | Path, cell: "reinstate.cell.EpisodicLSTMCell | Weights") -> None:
    """Write a cell's weights to a file."""
    arrays = {"weight": np.asarray(cell.weight), "bias": np.asarray(cell.bias)}
    write_arrays(Path(path), arrays, {FORMAT: ORDERS[cell.episodic]})


def load_cell(path: str | Path) -> "reinstate.cell.EpisodicLSTMCell":
    """Make a cell of the weights in a file."""
    return make_cell(read_weights(path))


def make_cell(weights: Weights) -> "reinstate.cell.EpisodicLSTMCell":
    """Make a cell of its weights."""
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    from reinstate.cell import EpisodicLSTMCell

    cell: EpisodicLSTMCell = eqx.filter_eval_shape(  # draws nothing
        EpisodicLSTMCell, *weights.sizes, episodic=weights.episodic, key=jax.random.key(0)
    )
    given = jnp.array(weights.weight), jnp.array(weights.bias)
    made: EpisodicLSTMCell = eqx.tree_at(lambda c: (c.weight, c.bias), cell, given)
    return made


def read_weights(path: str | Path) -> Weights:
    """Read a cell's file into arrays of NumPy, if they can be a cell's."""
    arrays, metadata = read_arrays(Path(path), "name a file that save_cell wrote")
    order = metadata.get(FORMAT)
    if order not in ORDERS.values() or arrays.keys() != {"weight", "bias"}:
        raise UserError(
            f"{path} is not a cell's file: name one that save_cell wrote; the agent of a whole run"
            " is read by reinstate.load or reinstate.interop.torch.load_agent"
        )
    found = Weights(arrays["weight"], arrays["bias"], order == ORDERS[True])
    shapes, gates = (found.weight.shape, found.bias.shape), num_gates(found.episodic)
    fit = len(shapes[0]) == 2 and shapes[1] == shapes[0][1:] and shapes[1][0] % gates == 0
    if not (fit and min(found.sizes) > 0):
        raise UserError(f"{path}: weight {shapes[0]} and bias {shapes[1]} make no cell")
    return found
