"""The episodic LSTM in PyTorch; `reinstate.cell` is the original."""

from __future__ import annotations  # the documentation is built without PyTorch

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from reinstate.errors import require_positive
from reinstate.interop import exchange
from reinstate.interop.exchange import Weights, make_cell, num_gates, read_weights

if TYPE_CHECKING:
    from reinstate import cell as original


class LSTMState(NamedTuple):
    """What the cell carries from step to step; unlike in `nn.LSTMCell`, c comes first."""

    c: Tensor  # (…, hidden_size) cell state: what the memory stores
    h: Tensor  # (…, hidden_size) output


class Gates(NamedTuple):
    """How far each gate was open, 0 to 1."""

    i: Tensor  # (…, hidden_size) input gate
    f: Tensor  # (…, hidden_size) forget gate
    o: Tensor  # (…, hidden_size) output gate
    r: Tensor  # (…, hidden_size) reinstatement gate; zeros in the plain LSTM


class Module(nn.Module):
    """A module that says what to do in place of TorchScript, which cannot read it."""

    def __prepare_scriptable__(self) -> None:
        raise NotImplementedError(
            f"torch.jit.script cannot compile {type(self).__name__}: use torch.compile, or"
            " torch.export.export to save a program"
        )


class EpisodicLSTMCell(Module):
    """The paper's epLSTM (equations 3–7); with `episodic=False` the plain LSTM, by the same code.

    i, f, o, r = σ(W_x x_t + W_h h_{t-1} + b)        each with rows of its own
    c_in       = tanh(W_x x_t + W_h h_{t-1} + b)
    c_t        = i ∘ c_in + f ∘ c_{t-1} + r ∘ c_ep
    h_t        = o ∘ tanh(c_t)

    `weight` and `bias` are those of `reinstate.cell.EpisodicLSTMCell`, in the same layout: blocks
    of columns for i, f, o, c_in and r. The cell computes in the dtype of its weights.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        episodic: bool = True,
        forget_bias: float = 1.0,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        require_positive(input_size=input_size, hidden_size=hidden_size)
        self.input_size, self.hidden_size = input_size, hidden_size
        self.episodic, self.forget_bias = episodic, forget_bias
        shape = (input_size + hidden_size, num_gates(episodic) * hidden_size)
        self.weight = nn.Parameter(torch.empty(shape, device=device, dtype=dtype))
        self.bias = nn.Parameter(torch.empty(shape[1], device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weights, and open the forget gate by its bias."""
        scale, hidden = self.hidden_size**-0.5, self.hidden_size
        with torch.no_grad():
            self.weight.uniform_(-scale, scale)
            self.bias.zero_()[hidden : 2 * hidden] = self.forget_bias

    def initial_state(self, *batch: int) -> LSTMState:
        """Return zeros, with the leading dimensions that are given."""
        return LSTMState(*(self.weight.new_zeros(*batch, self.hidden_size) for _ in range(2)))

    def forward(
        self, x: Tensor, state: LSTMState | None = None, c_ep: Tensor | None = None
    ) -> tuple[LSTMState, Gates]:
        """Take one step. `c_ep` is the retrieved cell state; without one, nothing is reinstated.

        Without a state it starts from zeros.
        """
        batch, dtype = tuple(x.shape[:-1]), self.weight.dtype
        c, h = self.initial_state(*batch) if state is None else state
        require_shape("x", x, (*batch, self.input_size))
        require_shape("state.c", c, (*batch, self.hidden_size))
        require_shape("state.h", h, (*batch, self.hidden_size))
        if self.episodic and c_ep is not None:
            require_shape("c_ep", c_ep, (*batch, self.hidden_size))
        z = linear(torch.cat([x.to(dtype), h.to(dtype)], dim=-1), self.weight.T, self.bias)
        i, f, o, c_in, *r = z.split(self.hidden_size, dim=-1)
        gates = Gates(
            i.sigmoid(), f.sigmoid(), o.sigmoid(), r[0].sigmoid() if r else torch.zeros_like(i)
        )
        c = gates.i * c_in.tanh() + gates.f * c.to(dtype)
        if self.episodic and c_ep is not None:
            c = c + gates.r * c_ep.to(dtype)
        return LSTMState(c, gates.o * c.tanh()), gates

    def unroll(
        self, x: Tensor, state: LSTMState | None = None, c_ep: Tensor | None = None
    ) -> tuple[Tensor, LSTMState, Gates]:
        """Take a step for each row of x, (time, …, input_size): h of all, the last state, gates.

        `c_ep` is the same at every step, (…, hidden_size), or leads with time as well.
        """
        every = c_ep is not None and c_ep.dim() == x.dim()
        outputs, opened = [], []
        for time, row in enumerate(x):
            recalled = c_ep[time] if c_ep is not None and every else c_ep
            state, gates = self(row, state, recalled)
            outputs.append(state.h)
            opened.append(gates)
        assert state is not None, "x has no steps"
        return torch.stack(outputs), state, Gates(*map(torch.stack, zip(*opened, strict=True)))

    def extra_repr(self) -> str:
        """Describe the cell where PyTorch prints it."""
        return f"{self.input_size}, {self.hidden_size}, episodic={self.episodic}"

    @classmethod
    def from_jax(cls, cell: original.EpisodicLSTMCell | Weights) -> Self:
        """Make a cell with the weights of a JAX cell."""
        tensors = {"weight": to_tensor(cell.weight), "bias": to_tensor(cell.bias)}
        like: Any = {"episodic": cell.episodic, "dtype": tensors["weight"].dtype}
        sizes = Weights(cell.weight, cell.bias, cell.episodic).sizes
        made = torch.nn.utils.skip_init(cls, *sizes, **like)
        made.load_state_dict(tensors)
        return made

    def to_weights(self) -> Weights:
        """Return the weights as arrays of NumPy."""
        return Weights(_to_array(self.weight), _to_array(self.bias), self.episodic)

    def to_jax(self) -> original.EpisodicLSTMCell:
        """Return the JAX cell with these weights."""
        return make_cell(self.to_weights())


def require_shape(name: str, tensor: Tensor, shape: tuple[int, ...]) -> None:
    """Refuse a tensor of another shape, which PyTorch might broadcast without a word."""
    if tuple(tensor.shape) != shape:
        raise ValueError(
            f"{name} has shape {tuple(tensor.shape)}, expected {shape}: all that goes into one call"
            " has the same leading dimensions"
        )


def to_tensor(array: Any) -> Tensor:
    """Copy an array of JAX or NumPy."""
    plain = np.array(array)
    if plain.dtype.name == "bfloat16":  # which PyTorch does not take from NumPy
        return torch.from_numpy(plain.astype(np.float32)).bfloat16()
    return torch.from_numpy(plain)


def _to_array(x: Tensor) -> np.ndarray:
    x = x.detach().cpu()
    return x.float().numpy().astype("bfloat16") if x.dtype == torch.bfloat16 else x.numpy()


def save_cell(path: str | Path, cell: EpisodicLSTMCell) -> None:
    """Write a cell's weights to a file that `reinstate.interop.exchange.load_cell` reads too."""
    exchange.save_cell(path, cell.to_weights())


def load_cell(path: str | Path) -> EpisodicLSTMCell:
    """Make a cell of the weights in a file, whichever side wrote it."""
    return EpisodicLSTMCell.from_jax(read_weights(path))
