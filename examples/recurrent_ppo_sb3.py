"""Train sb3-contrib's RecurrentPPO on barcode bandits, all lanes by one compiled step.

    pip install -e ".[gym]" sb3-contrib  (in a clone)
    python examples/recurrent_ppo_sb3.py --out results/adapters/sb3.json

An episode of Gymnasium is one exposure here. RecurrentPPO starts its LSTM at zero in each, and has
no other memory: it can learn to search for the good arm and to stay there, not to know the arm when
a barcode comes back. So its reward lies between chance and the optimum without memory.
"""

import shlex
import sys
import time
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
import tyro
from sb3_contrib import RecurrentPPO
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import VecMonitor

from reinstate.analysis.verdicts import over_seeds, with_interval
from reinstate.baselines.bandits import bandit_optimum
from reinstate.files import write_json
from reinstate.interop.sb3 import ReinstateVecEnv
from reinstate.runs.provenance import provenance
from reinstate.tasks.bandits import BarcodeBandits

TASK = BarcodeBandits(num_arms=4, num_contexts=4)
PACKAGES = ("sb3-contrib", "stable-baselines3", "torch", "gymnasium")


@dataclass(frozen=True)
class Options:
    seeds: tuple[int, ...] = (0, 1, 2)
    """One agent is trained from each."""
    steps: int = 200_000
    """Steps of training."""
    episodes: int = 1000
    """Episodes in which a trained agent is evaluated."""
    judged_from: int = 1_000_000
    """First seed of the environments in which agents are evaluated."""
    task: BarcodeBandits = TASK
    out: Path | None = None
    """Where to write what was found."""


def make_envs(task: BarcodeBandits, seed: int) -> Any:
    """Make environments whose observations show the last action and the last reward."""
    envs = VecMonitor(ReinstateVecEnv(task, num_envs=16, per="exposure", last_step=True))
    envs.seed(seed)
    return envs


def train(options: Options, seed: int) -> RecurrentPPO:
    model = RecurrentPPO(
        "MlpLstmPolicy",
        make_envs(options.task, seed),
        learning_rate=3e-3,
        n_steps=5 * options.task.pulls,
        batch_size=40 * options.task.pulls,
        n_epochs=4,
        gamma=0.9,
        gae_lambda=0.9,
        ent_coef=0.01,
        vf_coef=0.1,
        policy_kwargs={
            "lstm_hidden_size": 32,
            "net_arch": [],
            "shared_lstm": True,
            "enable_critic_lstm": False,
        },
        seed=seed,
        device="cpu",
    )
    return model.learn(options.steps)


def judge(options: Options, model: RecurrentPPO, seed: int) -> float:
    """Return the reward per episode of the likeliest actions, in environments never met before."""
    envs = make_envs(options.task, options.judged_from + 1000 * seed)
    rewards, _ = evaluate_policy(
        model, envs, options.episodes, deterministic=True, return_episode_rewards=True
    )
    return float(np.mean(rewards))


def main(options: Options) -> dict[str, Any]:
    torch.set_num_threads(1)  # the network is too small for more
    optimum, began, rewards = bandit_optimum(options.task), time.monotonic(), []
    for seed in options.seeds:
        rewards.append(judge(options, train(options, seed), seed))
        print(f"seed {seed}: {rewards[-1]:.2f} per episode", flush=True)
    found = {
        "reward": over_seeds(rewards),
        "chance": optimum["chance"],
        "without_memory": optimum["without_memory"],
        "with_memory": optimum["with_memory"],
        "seconds": time.monotonic() - began,
    }
    print(
        f"RecurrentPPO {with_interval(over_seeds(rewards))} per episode; chance"
        f" {found['chance']:.2f}, at best {found['without_memory']:.2f} without memory"
        f" and {found['with_memory']:.2f} with it"
    )
    if options.out is not None:
        settings = {name: value for name, value in asdict(options).items() if name != "out"}
        versions = {name: version(name) for name in PACKAGES}
        command = shlex.join(["python", *sys.argv])
        record = {**found, "settings": settings, "command": command}
        write_json(options.out, {**record, **provenance(), "device": "cpu", "packages": versions})
    return found


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
