"""The episodic LSTM and its memory in PyTorch: the equations and the weights of the JAX originals.

PyTorch users map over no lanes: tensors may have any leading dimensions, the same for all that go
into one call. Importing this loads no JAX; only what converts to or from it does.
"""

try:
    import torch as _torch  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    raise ImportError(
        'reinstate.interop.torch needs PyTorch: pip install "reinstate[torch]"', name="torch"
    ) from None

from reinstate.interop.torch.agent import Agent, Decision, Recognizer, Recollection, load_agent
from reinstate.interop.torch.cell import EpisodicLSTMCell, Gates, LSTMState, load_cell, save_cell
from reinstate.interop.torch.memory import DND, Consolidating, Contents, EpisodicMemory, Retrieval

__all__ = [
    "DND",
    "Agent",
    "Consolidating",
    "Contents",
    "Decision",
    "EpisodicLSTMCell",
    "EpisodicMemory",
    "Gates",
    "LSTMState",
    "Recognizer",
    "Recollection",
    "Retrieval",
    "load_agent",
    "load_cell",
    "save_cell",
]
