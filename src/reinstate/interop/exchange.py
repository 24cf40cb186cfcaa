"""A cell's weights as a file that JAX and PyTorch both read.

It is a safetensors file, so that reading it executes nothing. It holds

    weight   (input_size + hidden_size, gates × hidden_size): W_x above W_h
    bias     (gates × hidden_size,)

and as metadata, under `reinstate-cell-1`, the order of the gates in both: "i f o c_in r", or
"i f o c_in" in the plain LSTM. `reinstate.interop.torch` has functions of the same names for its
own cell.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from safetensors import SafetensorError, safe_open

from reinstate.errors import UserError, one_line
from reinstate.files import LARGEST_ARRAYS, require_regular, write_arrays

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
    def hidden_size(self) -> int:
        """How many units the cell has."""
        return int(self.bias.shape[0]) // num_gates(self.episodic)

    @property
    def input_size(self) -> int:
        """The size of an input."""
        return int(self.weight.shape[0]) - self.hidden_size


def num_gates(episodic: bool) -> int:
    """Return how many blocks of columns the weights have, c_in's among them."""
    return len(ORDERS[episodic].split())


def save_cell(path: str | Path, cell: "reinstate.cell.EpisodicLSTMCell") -> None:
    """Write a cell's weights to a file."""
    arrays = {"weight": np.asarray(cell.weight), "bias": np.asarray(cell.bias)}
    write_arrays(Path(path), arrays, {FORMAT: ORDERS[cell.episodic]})


def load_cell(path: str | Path) -> "reinstate.cell.EpisodicLSTMCell":
    """Make a cell of the weights in a file."""
    return make_cell(read_weights(path, "numpy"))


def make_cell(weights: Weights) -> "reinstate.cell.EpisodicLSTMCell":
    """Make a cell of its weights."""
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    from reinstate.cell import EpisodicLSTMCell

    def make(key: jax.Array) -> EpisodicLSTMCell:
        sizes = weights.input_size, weights.hidden_size
        return EpisodicLSTMCell(*sizes, episodic=weights.episodic, key=key)

    cell: EpisodicLSTMCell = eqx.filter_eval_shape(make, jax.random.key(0))  # draws nothing
    given = jnp.array(weights.weight), jnp.array(weights.bias)
    made: EpisodicLSTMCell = eqx.tree_at(lambda c: (c.weight, c.bias), cell, given)
    return made


def read_weights(path: str | Path, framework: Literal["numpy", "pt"]) -> Weights:
    """Read a cell's file into arrays of NumPy or PyTorch, if they can be a cell's."""
    require_regular(Path(path), LARGEST_ARRAYS)  # a pipe would be waited for
    try:
        with safe_open(path, framework) as file:
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            order = (file.metadata() or {}).get(FORMAT)
    # safetensors answers a type that NumPy lacks with an AttributeError, a KeyError or a TypeError.
    except (SafetensorError, OSError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise UserError(
            f"{path} cannot be read ({one_line(error)}): name a file that save_cell wrote"
        ) from None
    if order not in ORDERS.values() or arrays.keys() != {"weight", "bias"}:
        raise UserError(
            f"{path} is not a cell's file: name one that save_cell wrote; the agent of a whole run"
            " is read by reinstate.load or reinstate.interop.torch.load_agent"
        )
    weights = Weights(arrays["weight"], arrays["bias"], order == ORDERS[True])
    _require_fit(path, weights)
    return weights


def _require_fit(path: str | Path, weights: Weights) -> None:
    """Refuse arrays of which no cell can be made."""
    shapes = tuple(weights.weight.shape), tuple(weights.bias.shape)
    gates = num_gates(weights.episodic)
    fit = len(shapes[0]) == 2 and shapes[1] == shapes[0][1:] and shapes[1][0] % gates == 0
    if not (fit and weights.input_size > 0 and weights.hidden_size > 0):
        raise UserError(
            f"{path}: weight {shapes[0]} and bias {shapes[1]} make no cell of {gates} gates; they"
            f" must be (input_size + hidden_size, {gates} × hidden_size) and"
            f" ({gates} × hidden_size,)"
        )
