"""Cued recall in PyTorch: the task and the network of cued_recall.py, by `reinstate.interop.torch`.

Sequences are shown once, each with a cue, and later recalled from the cue alone. Lanes are a
leading dimension. Needs PyTorch: pip install -e ".[torch]" in a clone
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, one_hot

from reinstate.interop.torch import DND, EpisodicLSTMCell

CUES, CUE_SIZE, LENGTH, SYMBOLS, NOISE, HIDDEN, LANES = 8, 16, 3, 4, 0.3, 32, 16
DICTIONARY = DND(capacity=2 * CUES, k=3)


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = EpisodicLSTMCell(SYMBOLS + 1 + CUE_SIZE, HIDDEN)
        self.head = nn.Linear(HIDDEN, SYMBOLS)

    def forward(self, cues: Tensor, inputs: Tensor, recall: float) -> tuple[Tensor, Tensor]:
        """Return logits, (episodes, LENGTH, LANES, SYMBOLS), and which episode came back."""
        memory, logits, came_back = DICTIONARY.empty(CUE_SIZE, HIDDEN, LANES), [], []
        for cue, symbols in zip(cues, inputs, strict=True):
            found, memory = DICTIONARY.read(memory, cue)
            state = self.cell.initial_state(LANES)
            for x in symbols:
                state, _ = self.cell(torch.cat([x, cue], dim=-1), state, recall * found.value)
                logits.append(self.head(state.h))
            # Gradients pass through what is stored; the paper's do not: it would be detached.
            memory = DICTIONARY.write(memory, cue, state.c)
            came_back.append(found.written[:, 0] - 1)  # writes count from 1
        return torch.stack(logits).unflatten(0, (-1, LENGTH)), torch.stack(came_back)


def draw_epoch() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Draw cues and inputs, (episodes, …, LANES, size); symbols to be named; episodes queried."""
    cues = torch.randn(CUES, LANES, CUE_SIZE)
    symbols = torch.randint(SYMBOLS, (CUES, LENGTH, LANES))
    order = torch.randperm(CUES)
    blurred = cues[order] + NOISE * torch.randn_like(cues)
    asked = torch.full_like(symbols, SYMBOLS)
    inputs = one_hot(torch.cat([symbols, asked]), SYMBOLS + 1).float()
    return torch.cat([cues, blurred]), inputs, symbols[order], order


def main(steps: int = 200, recall: float = 1.0) -> tuple[float, float]:
    """Train; return the share of symbols recalled, and of cues that brought their own state back.

    With `recall=0` nothing comes back, and symbols can only be guessed: 1/4.
    """
    torch.manual_seed(0)
    network, right = Network(), 0.0
    optimizer = torch.optim.Adam(network.parameters(), lr=2e-2)
    for step in range(1, steps + 1):
        cues, inputs, targets, order = draw_epoch()
        logits, came_back = network(cues, inputs, recall)
        logits = logits[CUES:]
        loss = cross_entropy(logits.flatten(0, 2), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        now = (logits.argmax(-1) == targets).float().mean().item()
        right += (now - right) / min(step, 20)  # over the last steps
        if step % 50 == 0:
            print(f"{right:.0%} recalled after {step} steps")
    return right, (came_back[CUES:] == order[:, None]).float().mean().item()


if __name__ == "__main__":
    torch.set_num_threads(1)  # tensors as small as these are slower on several
    main()
    print("and without the memory:")
    main(recall=0.0)
