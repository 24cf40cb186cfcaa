"""Let shipped weights play barcode bandits in PyTorch, which draws the bandits too.

    pip install -e ".[torch]"
    python examples/shipped_agent_torch.py

The second exposure to a context earns far more than the first: the stored state comes back.
"""

import torch

from reinstate.interop import torch as rt


def main() -> tuple[float, float]:
    """Return the reward per episode at the first and at the second exposure."""
    agent, dnd = rt.load_agent("barcode-bandits/epl2rl")
    lanes, arms, pulls = 200, 10, 10
    memory = dnd.empty(10, agent.cell.hidden_size, lanes)
    barcodes = torch.eye(arms)  # the contexts, of ten bits each
    good_arm = torch.stack([torch.randperm(arms) for _ in range(lanes)])  # (lanes, contexts)
    nothing, rewards = torch.zeros(lanes, 0), []

    with torch.no_grad():
        for context in [*range(arms), *range(arms)]:
            key = barcodes[context].expand(lanes, -1)
            found, memory = dnd.read(memory, key)
            state = agent.initial_state(lanes)
            action, reward, earned = torch.full((lanes,), -1), torch.zeros(lanes), 0.0
            for _ in range(pulls):
                state, decision = agent(nothing, None, action, reward, found.value, state)
                action = torch.distributions.Categorical(logits=decision.logits).sample()
                pays = torch.where(action == good_arm[:, context], 0.9, 0.1)
                reward = torch.bernoulli(pays)
                earned += reward.mean().item()
            # The last reward is an input of the next step: one more, for the state to know it.
            state, _ = agent(nothing, None, action, reward, found.value, state)
            memory = dnd.write(memory, key, agent.to_store(state))
            rewards.append(earned)
    return sum(rewards[:arms]) / arms, sum(rewards[arms:]) / arms


if __name__ == "__main__":
    first, again = main()
    print(f"{first:.1f} reward per episode at the first exposure, {again:.1f} at the second")
