"""Recurrent PPO with an episodic memory in PyTorch: recurrent_ppo.py by `reinstate.interop.torch`.

Barcode bandits come from Gymnasium's side, many lanes in one call. What is recalled as an exposure
starts is kept with the batch, so that minibatches of exposures replay it without the memory, each
as one sequence. Needs both packages: pip install -e ".[gym,torch]" in a clone

    python examples/recurrent_ppo_torch.py
"""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.distributions import Categorical

from reinstate.baselines.bandits import bandit_optimum
from reinstate.interop.gymnasium import ReinstateVectorEnv
from reinstate.interop.torch import DND, EpisodicLSTMCell, EpisodicMemory, LSTMState
from reinstate.tasks.bandits import BarcodeBandits

WORLD = BarcodeBandits(num_arms=3, pulls=4, num_contexts=3, repeats=5, barcode_length=3)
DICTIONARY = DND(capacity=WORLD.num_contexts)
HIDDEN, PASSES, MINIBATCHES = 32, 4, 4
DISCOUNT, GAE_LAMBDA, CLIP, VALUE_COST, ENTROPY_COST = 0.9, 0.9, 0.2, 0.5, 0.02


class Network(nn.Module):
    def __init__(self, envs: ReinstateVectorEnv) -> None:
        super().__init__()
        self.context = envs.environment.layout["context"]
        (size,) = envs.environment.obs_shape
        self.cell = EpisodicLSTMCell(size - WORLD.context_size, HIDDEN)
        self.head = nn.Linear(HIDDEN, WORLD.num_actions + 1)  # logits and, last, the value

    def enters(self, seen: Tensor) -> Tensor:
        """Return what enters the cell, which does not see the context itself."""
        return torch.cat([seen[..., : self.context.start], seen[..., self.context.stop :]], -1)

    def policy(self, h: Tensor) -> tuple[Categorical, Tensor]:
        out = self.head(h)
        return Categorical(logits=out[..., :-1]), out[..., -1]

    def replay(self, seen: Tensor, c_ep: Tensor) -> tuple[Categorical, Tensor]:
        """Return policies and values of exposures, (pulls, rows), by the network as it is now."""
        h, _, _ = self.cell.unroll(self.enters(seen), None, c_ep)
        return self.policy(h)


class Batch(NamedTuple):
    """Exposures, (…, rows); `play` stacks them as (exposures, …, lanes)."""

    c_ep: Tensor  # (rows, hidden) what came back as it started
    seen: Tensor  # (pulls, rows, observation)
    action: Tensor  # (pulls, rows)
    log_prob: Tensor
    value: Tensor
    reward: Tensor
    number: Tensor  # (rows,) how often the context was met before


def play(net: Network, envs: ReinstateVectorEnv, memory: EpisodicMemory, recall: float) -> Batch:
    """Play an epoch in every lane, from an empty memory."""
    seen, info = envs.reset(options={"new_epoch": True})
    memory.reset()
    exposures = []
    for _ in range(WORLD.episodes_per_epoch):
        context, number = torch.tensor(seen[:, net.context]), torch.tensor(info["exposure"])
        c_ep, steps = recall * memory(context).value, []
        state: LSTMState | None = None
        for _ in range(WORLD.pulls):
            before = torch.tensor(seen)
            state, _ = net.cell(net.enters(before), state, c_ep)
            policy, value = net.policy(state.h)
            action = policy.sample()
            seen, reward, _, _, info = envs.step(action.numpy())
            paid = torch.tensor(reward, dtype=torch.float32)
            steps.append((before, action, policy.log_prob(action), value, paid))
        assert state is not None
        memory.write(context, state.c)
        exposures.append(Batch(c_ep, *map(torch.stack, zip(*steps, strict=True)), number))
    return Batch(*map(torch.stack, zip(*exposures, strict=True)))


def rows_of(batch: Batch) -> Batch:
    """Make one row of every exposure of every lane."""
    c_ep, *steps, number = batch
    flat = (x.transpose(0, 1).flatten(1, 2) for x in steps)
    return Batch(c_ep.flatten(0, 1), *flat, number.flatten())


def estimate_advantages(reward: Tensor, value: Tensor) -> Tensor:
    """A_t = δ_t + γλ A_{t+1}, with δ_t = r_t + γ V_{t+1} − V_t; nothing follows the last step."""
    delta = reward + DISCOUNT * torch.cat([value[1:], 0 * value[:1]]) - value
    advantage = [delta[-1]]
    for step in reversed(delta[:-1]):
        advantage.append(step + DISCOUNT * GAE_LAMBDA * advantage[-1])
    return torch.stack(advantage[::-1])


def ppo_loss(net: Network, batch: Batch, advantage: Tensor) -> Tensor:
    """The clipped objective; tensors are (pulls, rows)."""
    policy, value = net.replay(batch.seen, batch.c_ep)
    ratio = (policy.log_prob(batch.action) - batch.log_prob).exp()
    scaled = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    gain = torch.minimum(ratio * scaled, ratio.clamp(1 - CLIP, 1 + CLIP) * scaled).mean()
    value_loss = (value - (batch.value + advantage)).square().mean()
    return VALUE_COST * value_loss - gain - ENTROPY_COST * policy.entropy().mean()


def main(updates: int = 200, lanes: int = 64, recall: float = 1.0, seed: int = 0) -> np.ndarray:
    """Train; return the learning curve, (updates, exposures): the reward of each.

    With `recall=0` nothing comes back.
    """
    torch.manual_seed(seed)
    envs = ReinstateVectorEnv(WORLD, lanes, per="exposure", last_step=True)
    envs.reset(seed=seed)
    net, memory = Network(envs), EpisodicMemory(DICTIONARY, WORLD.context_size, HIDDEN, lanes)
    optimizer, curve = torch.optim.Adam(net.parameters(), lr=3e-3), []
    for _ in range(updates):
        with torch.no_grad():
            batch = rows_of(play(net, envs, memory, recall))
        advantage = estimate_advantages(batch.reward, batch.value)
        for _ in range(PASSES):
            for rows in torch.randperm(len(batch.c_ep)).chunk(MINIBATCHES):
                steps = (x[:, rows] for x in batch[1:-1])
                own = Batch(batch.c_ep[rows], *steps, batch.number[rows])
                optimizer.zero_grad()
                ppo_loss(net, own, advantage[:, rows]).backward()
                nn.utils.clip_grad_norm_(net.parameters(), 0.5)
                optimizer.step()
        earned = batch.reward.sum(0)
        curve.append([earned[batch.number == n].mean().item() for n in range(WORLD.repeats)])
    return np.array(curve)


if __name__ == "__main__":
    torch.set_num_threads(1)  # tensors as small as these are slower on several
    for text, share in (("with the memory", 1.0), ("without", 0.0)):
        last = main(recall=share)[-20:].mean(axis=0)
        print(f"{text}: {', '.join(f'{x:.2f}' for x in last)} in exposures 1 to {len(last)}")
    for name, best in bandit_optimum(WORLD).items():
        if name in ("chance", "without_memory", "with_memory"):
            print(f"{name.replace('_', ' ')}: {best:.2f} on average")
