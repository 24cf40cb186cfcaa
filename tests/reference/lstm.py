"""The episodic LSTM's equations, one unit at a time, with a weight matrix for each gate."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Floats = np.ndarray[Any, np.dtype[np.float64]]


@dataclass
class GateWeights:
    x: Floats  # (hidden_size, input_size)
    h: Floats  # (hidden_size, hidden_size)
    b: Floats  # (hidden_size,)

    def drive(self, unit: int, x: Floats, h: Floats) -> float:
        return float(self.x[unit] @ x + self.h[unit] @ h + self.b[unit])


def logistic(z: float) -> float:
    return 1 / (1 + math.exp(-z))


def step(
    weights: Mapping[str, GateWeights], x: Floats, c: Floats, h: Floats, c_ep: Floats | None
) -> tuple[Floats, Floats, dict[str, Floats]]:
    """New c, new h, and the gates; without c_ep the equations of the plain LSTM."""
    size = len(c)
    gates = {name: np.zeros(size) for name in "ifor"}
    new_c, new_h = np.zeros(size), np.zeros(size)
    for unit in range(size):
        for name in "ifor":
            if name in weights:
                gates[name][unit] = logistic(weights[name].drive(unit, x, h))
        candidate = math.tanh(weights["c_in"].drive(unit, x, h))
        new_c[unit] = gates["i"][unit] * candidate + gates["f"][unit] * c[unit]
        if c_ep is not None:
            new_c[unit] += gates["r"][unit] * c_ep[unit]
        new_h[unit] = gates["o"][unit] * math.tanh(new_c[unit])
    return new_c, new_h, gates
