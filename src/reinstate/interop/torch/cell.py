"""The episodic LSTM in PyTorch; `reinstate.cell` is the original."""

from __future__ import annotations  # the documentation is built without PyTorch

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import torch
from safetensors.torch import save
from torch import Tensor, nn
from torch.nn.functional import linear

from reinstate.errors import UserError, require_positive
from reinstate.files import write_atomically
from reinstate.interop.exchange import FORMAT, ORDERS, Weights, make_cell, num_gates, read_weights
from reinstate.interop.torch.checks import leading, require_tensor

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


class EpisodicLSTMCell(nn.Module):
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
        try:
            require_positive(input_size=input_size, hidden_size=hidden_size)
        except UserError as error:
            raise ValueError(str(error)) from None
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
        batch, dtype = leading("x", x, self.input_size, "the cell's input_size"), self.weight.dtype
        c, h = self.initial_state(*batch) if state is None else state
        self._check(batch, c, h, c_ep)
        z = linear(torch.cat([x.to(dtype), h.to(dtype)], dim=-1), self.weight.T, self.bias)
        i, f, o, c_in, *r = z.split(self.hidden_size, dim=-1)
        gates = Gates(
            i.sigmoid(), f.sigmoid(), o.sigmoid(), r[0].sigmoid() if r else torch.zeros_like(i)
        )
        c = gates.i * c_in.tanh() + gates.f * c.to(dtype)
        if self.episodic and c_ep is not None:
            c = c + gates.r * c_ep.to(dtype)
        return LSTMState(c, gates.o * c.tanh()), gates

    def _check(self, batch: tuple[int, ...], c: Tensor, h: Tensor, c_ep: Tensor | None) -> None:
        shape, whose = (*batch, self.hidden_size), "x's leading dimensions and hidden_size"
        require_tensor("state.c", c, "floats", shape, whose)
        require_tensor("state.h", h, "floats", shape, whose)
        if self.episodic and c_ep is not None:
            require_tensor("c_ep", c_ep, "floats", shape, whose)

    def extra_repr(self) -> str:
        """Describe the cell where PyTorch prints it."""
        return f"{self.input_size}, {self.hidden_size}, episodic={self.episodic}"

    @classmethod
    def from_weights(cls, weights: Weights) -> Self:
        """Make a cell of its weights, as tensors, on their device and of their dtype."""
        like = {"device": weights.weight.device, "dtype": weights.weight.dtype}
        sizes = weights.input_size, weights.hidden_size
        cell = torch.nn.utils.skip_init(cls, *sizes, episodic=weights.episodic, **like)
        with torch.no_grad():
            cell.weight.copy_(weights.weight)
            cell.bias.copy_(weights.bias)
        return cell

    @classmethod
    def from_jax(cls, cell: original.EpisodicLSTMCell) -> Self:
        """Make a cell with the weights of a JAX cell."""
        return cls.from_weights(
            Weights(to_tensor(cell.weight), to_tensor(cell.bias), cell.episodic)
        )

    def to_jax(self) -> original.EpisodicLSTMCell:
        """Return the JAX cell with these weights."""
        import jax.numpy as jnp

        def to_array(x: Tensor) -> Any:
            x = x.detach().cpu()
            if x.dtype == torch.bfloat16:  # which NumPy does not take from PyTorch
                return jnp.asarray(x.float().numpy(), jnp.bfloat16)
            return x.numpy()

        return make_cell(Weights(to_array(self.weight), to_array(self.bias), self.episodic))

    @classmethod
    def from_lstm_cell(cls, lstm: nn.LSTMCell, *, episodic: bool = False) -> Self:
        """Make a cell that computes what an `nn.LSTMCell` does.

        PyTorch has its gates in the order i, f, c_in, o, and two biases, of which this has the sum.
        An episodic one gets new weights for the r-gate: until a state is reinstated it computes the
        same.
        """
        if not isinstance(lstm, nn.LSTMCell):
            raise TypeError(
                f"from_lstm_cell takes an nn.LSTMCell, not {type(lstm).__name__}: copy the weights"
                " of one layer into an nn.LSTMCell first"
            )
        hidden, like = lstm.hidden_size, lstm.weight_ih
        cell = cls(lstm.input_size, hidden, episodic=episodic, device=like.device, dtype=like.dtype)
        with torch.no_grad():
            weight = torch.cat([lstm.weight_ih, lstm.weight_hh], dim=1)
            cell.weight[:, : 4 * hidden] = _swapped(weight).T
            cell.bias[: 4 * hidden] = _swapped(lstm.bias_ih + lstm.bias_hh) if lstm.bias else 0
        return cell

    def to_lstm_cell(self) -> nn.LSTMCell:
        """Return an `nn.LSTMCell` that computes the same as long as no state is reinstated."""
        hidden = self.hidden_size
        like = self.weight
        lstm = nn.LSTMCell(self.input_size, hidden, device=like.device, dtype=like.dtype)
        with torch.no_grad():
            weight = _swapped(self.weight[:, : 4 * hidden].T)
            lstm.weight_ih.copy_(weight[:, : self.input_size])
            lstm.weight_hh.copy_(weight[:, self.input_size :])
            lstm.bias_ih.copy_(_swapped(self.bias[: 4 * hidden]))
            lstm.bias_hh.zero_()
        return lstm


def _swapped(blocks: Tensor) -> Tensor:
    """Change i, f, c_in, o into i, f, o, c_in, or back."""
    i, f, third, fourth = blocks.chunk(4)
    return torch.cat([i, f, fourth, third])


def to_tensor(array: Any) -> Tensor:
    """Copy an array of JAX or NumPy."""
    plain = np.array(array)
    if plain.dtype.name == "bfloat16":  # which PyTorch does not take from NumPy
        return torch.from_numpy(plain.astype(np.float32)).bfloat16()
    return torch.from_numpy(plain)


def save_cell(path: str | Path, cell: EpisodicLSTMCell) -> None:
    """Write a cell's weights to a file that `reinstate.interop.exchange.load_cell` reads too."""
    tensors = {name: x.detach().cpu().contiguous() for name, x in cell.named_parameters()}
    write_atomically(Path(path), save(tensors, {FORMAT: ORDERS[cell.episodic]}))


def load_cell(path: str | Path) -> EpisodicLSTMCell:
    """Make a cell of the weights in a file, whichever side wrote it."""
    return EpisodicLSTMCell.from_weights(read_weights(path, "pt"))
