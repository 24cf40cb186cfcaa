"""The rival: the same agent and learner in PyTorch, in eager mode, batched over lanes.

It is what a PyTorch user would write to be fast: a vectorised environment, one memory tensor for
all lanes, changed in place, chance drawn in bulk, a fused optimiser, and Python only between steps.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, log_softmax, one_hot

from reinstate.agent import LARGEST_STORED
from reinstate.learner import A2C
from reinstate.settings import Settings
from reinstate.tasks.bandits import BarcodeBandits


class Epoch(NamedTuple):
    """What the lanes meet in one epoch."""

    context: Tensor  # (lanes, episodes, barcode_length)
    good_arm: Tensor  # (lanes, episodes)


class Played(NamedTuple):
    """One episode in all lanes, steps first."""

    logits: Tensor  # (steps, lanes, num_arms)
    value: Tensor  # (steps, lanes)
    action: Tensor  # (steps, lanes)
    reward: Tensor  # (steps, lanes)


def draw_epoch(task: BarcodeBandits, lanes: int, device: torch.device) -> Epoch:
    """Draw barcodes without replacement, an arm for each, and the order in which they come."""

    def shuffled(size: int) -> Tensor:
        return torch.rand(lanes, size, device=device).argsort(1)

    contexts = task.num_contexts
    numbers = 1 + torch.rand(lanes, 2**task.barcode_length - 1, device=device).topk(contexts)[1]
    bits = numbers[..., None] >> torch.arange(task.barcode_length, device=device) & 1
    order = shuffled(task.episodes_per_epoch) % contexts
    lane = torch.arange(lanes, device=device)[:, None]
    good_arm = shuffled(contexts) % task.num_arms
    return Epoch(bits.float()[lane, order], good_arm[lane, order])


class Memory:
    """A dictionary of cell states per lane, in one tensor; the nearest key by cosine is recalled.

    Capacity never binds: there is room for every episode of an epoch.
    """

    def __init__(self, lanes: int, capacity: int, key: int, value: int, device: torch.device):
        self.keys = torch.zeros(lanes, capacity, key, device=device)  # of length 1
        self.values = torch.zeros(lanes, capacity, value, device=device)
        self.filled = torch.zeros(lanes, dtype=torch.long, device=device)
        self.lane, self.slot = (torch.arange(n, device=device) for n in (lanes, capacity))

    def clear(self) -> None:
        """Forget everything, as at the start of an epoch."""
        self.filled.zero_()

    def read(self, query: Tensor) -> tuple[Tensor, Tensor]:
        """Return the nearest key's value, zeros where there is none; and the slot to write to."""
        fit = torch.bmm(self.keys, query[..., None])[..., 0]
        fit = fit.masked_fill(self.slot >= self.filled[:, None], -1.0)
        best = fit.argmax(1)
        known = self.filled > 0
        value = self.values[self.lane, best] * known[:, None]
        same = known & (self.keys[self.lane, best] == query).all(1)
        return value, torch.where(same, best, self.filled)

    def write(self, slot: Tensor, key: Tensor, value: Tensor) -> None:
        """Store a value under a key, in the slot that `read` said."""
        self.keys[self.lane, slot] = key
        self.values[self.lane, slot] = value
        self.filled = torch.maximum(self.filled, slot + 1)


class Network(nn.Module):
    """The episodic LSTM and its head: c_t = i ∘ c_in + f ∘ c_{t-1} + r ∘ c_ep."""

    def __init__(self, input_size: int, hidden: int, num_actions: int) -> None:
        super().__init__()
        scale = hidden**-0.5
        self.weight = nn.Parameter(torch.empty(5 * hidden, input_size + hidden))  # i, f, o, r, c_in
        self.weight.data.uniform_(-scale, scale)
        self.bias = nn.Parameter(torch.zeros(5 * hidden))
        self.bias.data[hidden : 2 * hidden] = 1.0
        self.head = nn.Linear(hidden, num_actions + 1)
        self.hidden = hidden

    def step(self, x: Tensor, c: Tensor, h: Tensor, c_ep: Tensor) -> tuple[Tensor, Tensor]:
        """Take one step of the cell; return c and h."""
        z = linear(torch.cat([x, h], 1), self.weight, self.bias)
        i, f, o, r = z[:, : 4 * self.hidden].sigmoid().chunk(4, 1)
        c = i * z[:, 4 * self.hidden :].tanh() + f * c + r * c_ep
        return c, o * c.tanh()


def returns(reward: Tensor, discount: float) -> Tensor:
    """Sum discounted rewards along the first axis, G_t = r_t + γ G_{t+1}."""
    found = [reward[-1]]
    for r_t in reversed(reward[:-1].unbind()):
        found.append(r_t + discount * found[-1])
    return torch.stack(found[::-1])


def a2c_loss(played: Played, settings: A2C, entropy_cost: float) -> Tensor:
    """Return the mean over steps of −log π(a)·A + c_v·A²/2 − c_e·H, A = G − V."""
    log_pi = log_softmax(played.logits, -1)
    log_pi_a = log_pi.gather(-1, played.action[..., None])[..., 0]
    entropy = -(log_pi.exp() * log_pi).sum(-1)
    advantage = returns(played.reward, settings.discount) - played.value
    policy = -log_pi_a * advantage.detach()
    return (policy + settings.value_cost * advantage**2 / 2 - entropy_cost * entropy).mean()


class Rival:
    """A learner on barcode bandits, one update per episode over all lanes."""

    def __init__(self, settings: Settings, lanes: int) -> None:
        task: BarcodeBandits = settings.task
        self.settings, self.lanes = settings.learner, lanes
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.task, self.episodes = task, task.episodes_per_epoch
        hidden = settings.network.hidden_size
        sizes = task.num_arms + 1, hidden, task.num_arms
        self.network = Network(*sizes).to(self.device)
        rate = self.settings.learning_rate
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=rate, fused=True)
        shape = lanes, self.episodes, task.barcode_length, hidden
        self.memory = Memory(*shape, self.device)
        self.epoch = draw_epoch(task, lanes, self.device)
        self.done = 0  # episodes of all

    def train(self, episodes: int) -> float:
        """Play episodes in every lane, with an update after each; return the last one's reward."""
        for _ in range(episodes):
            at = self.done % self.episodes
            if at == 0:
                self.memory.clear()
                self.epoch = draw_epoch(self.task, self.lanes, self.device)
            played = self.play(self.epoch.context[:, at], self.epoch.good_arm[:, at])
            self.update(played)
            self.done += 1
        return float(played.reward.sum(0).mean())  # waits for the device, if that is one

    def play(self, context: Tensor, good_arm: Tensor) -> Played:
        """Play an episode; the state that its last reward led to goes to the memory."""
        task, steps, lanes = self.task, self.task.pulls, self.lanes
        key = context / context.norm(dim=1, keepdim=True)
        c_ep, slot = self.memory.read(key)
        chance = torch.rand(steps, lanes, device=self.device)
        # A draw from the softmax: the largest of logits − log E, E exponential.
        noise = -torch.empty(steps, lanes, task.num_arms, device=self.device).exponential_().log()
        x = torch.zeros(lanes, task.num_arms + 1, device=self.device)
        c = h = torch.zeros(lanes, self.network.hidden, device=self.device)
        outputs, actions, rewards = [], [], []
        for step in range(steps):
            c, h = self.network.step(x, c, h, c_ep)
            out = self.network.head(h)
            action = (out.detach()[:, :-1] + noise[step]).argmax(1)
            p_reward = torch.where(action == good_arm, task.p_good, task.p_bad)
            reward = (chance[step] < p_reward).float()
            x = torch.cat([one_hot(action, task.num_arms), reward[:, None]], 1)
            outputs.append(out)
            actions.append(action)
            rewards.append(reward)
        with torch.no_grad():
            c, _ = self.network.step(x, c, h, c_ep)
            self.memory.write(slot, key, c.clamp(-LARGEST_STORED, LARGEST_STORED))
        out = torch.stack(outputs)
        return Played(out[..., :-1], out[..., -1], torch.stack(actions), torch.stack(rewards))

    def update(self, played: Played) -> None:
        """Follow the gradient of the loss, clipped; rates fall linearly over training."""
        s, progress = self.settings, self.done / (self.settings.epochs * self.episodes)
        entropy_cost = s.entropy_cost + (s.entropy_cost_end - s.entropy_cost) * progress
        rate = s.learning_rate + (s.learning_rate_end - s.learning_rate) * min(progress, 1.0)
        self.optimizer.zero_grad(set_to_none=True)
        a2c_loss(played, s, entropy_cost).backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), s.max_grad_norm)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
