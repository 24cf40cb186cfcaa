"""Experiment 5, section 4.5: which strategies does an agent with episodic memory learn?"""

from dataclasses import replace

import numpy as np

from reinstate import choice_figures, figures
from reinstate.agent import Network
from reinstate.analysis.choices import from_arrays
from reinstate.analysis.gates import gate_scores
from reinstate.analysis.intervals import mean_and_noise, over_seeds
from reinstate.analysis.participants import fit_choices
from reinstate.baselines.optimum import Values, two_step_values
from reinstate.evaluation import Evaluation, Record
from reinstate.experiments.base import LEARNER, Check, Experiment, Results
from reinstate.experiments.claims import outperforms
from reinstate.settings import Settings
from reinstate.tasks.two_step import EpisodicTwoStep

# The incremental strategies need what happened in the last episodes: ten are back-propagated.
QUICK = Settings(
    task=EpisodicTwoStep(),
    seeds=4,
    network=Network(reset="epoch"),
    learner=replace(LEARNER, epochs=400, episodes_per_update=10),
    evaluation=Evaluation(epochs=200),
)

PAPER = replace(
    QUICK,
    seeds=10,
    learner=replace(QUICK.learner, lanes=256, epochs=1000),
    evaluation=Evaluation(epochs=500),  # the paper's
)


def judge(world: EpisodicTwoStep, record: Record) -> Results:
    reward = np.asarray(record.reward).sum(axis=-1)  # (seeds, epochs, episodes)
    cue = np.asarray(record.trace.cue_episode)[..., 0]
    choices = from_arrays(record.action[..., 0], record.trace.state[..., 1], reward, cue >= 0, cue)
    fitted = fit_choices(choices)
    scores = {
        "reward": over_seeds(reward.mean(axis=(1, 2))),
        "uncued": over_seeds(reward[:, :, : world.uncued].mean(axis=(1, 2))),
        "choices": {name: fitted[name] for name in ("model", "fits", "group", "warnings", "stay")},
        "gates": gate_scores(record),
    }
    if world.cued:
        scores["cued"] = over_seeds(reward[:, :, world.uncued :].mean(axis=(1, 2)))
    return scores


def columns(agent: Results) -> dict[str, float]:
    return {part: agent[part]["mean"] for part in ("uncued", "cued") if part in agent}


def glance(verdict: Results) -> Results:
    """What of a verdict is kept at milestones."""
    kept: Results = {
        name: verdict[name] for name in ("reward", "uncued", "cued") if name in verdict
    }
    return {**kept, "weights": verdict["choices"]["group"]}


def checks(agents: Results, optimum: Values, baselines: Results) -> list[Check]:
    """Section 4.5's statements, for whichever of its agents were run."""
    found: list[Check] = []
    for name in ("l2rl", "l2rl-context"):
        if name in agents and "cued" in agents[name]:
            found.append(_stays_incremental(agents, name, optimum["counting_cued"]))
            if "epl2rl" in agents:
                found.append(outperforms(agents, "epl2rl", name))
    if "epl2rl" in agents and "cued" in agents["epl2rl"]:
        found += [*_strategies(agents["epl2rl"]["choices"]["group"])]
        found += _gates(agents["epl2rl"]["gates"])
    return found


def _stays_incremental(agents: Results, name: str, ceiling: float) -> Check:
    mean, noise = mean_and_noise(agents[name]["cued"])
    claim = f"{name} stays within the best that ignores the cues, on cued episodes"
    return Check(claim, mean, f"<= {ceiling:.3f} + {noise:.3f} for noise", mean <= ceiling + noise)


def _strategies(group: Results) -> list[Check]:
    """Fig. 6b: weights, mean over seeds with their 95% intervals."""

    def above_zero(part: str, name: str) -> Check:
        mean, noise = mean_and_noise(group[part][name])
        claim = f"epl2rl uses {name} on {part} episodes (weight)"
        return Check(claim, mean, f"> {noise:.3f}, its 95% half width", mean > noise)

    found = [above_zero("uncued", name) for name in ("IMF", "IMB")]
    found += [above_zero("cued", name) for name in ("IMF", "IMB", "EMB")]
    cued = {name: group["cued"][name]["mean"] for name in ("IMF", "IMB", "EMF", "EMB")}
    others = max(weight for name, weight in cued.items() if name != "EMB")
    claim = "EMB is epl2rl's largest weight on cued episodes"
    found.append(Check(claim, cued["EMB"], f"> {others:.3f}, the next", cued["EMB"] > others))
    mean, noise = mean_and_noise(group["cued"]["EMF"])
    claim = "epl2rl does not use EMF on cued episodes (weight)"
    found.append(Check(claim, mean, f"<= {noise:.3f}, its 95% half width", mean <= noise))
    return found


def _gates(gates: Results) -> list[Check]:
    """Fig. 6c and the text beside it."""
    found = []
    cued, uncued = gates["cued"]["mean"], gates["uncued"]["mean"]
    for stage, after, before in zip(gates["stages"], cued, uncued, strict=True):
        claim = f"the r-gate is more open on cued episodes, {stage} (difference)"
        found.append(Check(claim, after - before, "> 0", after > before))
    claim = "the r-gate is most open at the cue, on cued episodes (lead)"
    lead = cued[0] - max(cued[1:])
    found.append(Check(claim, lead, "> 0", lead > 0))
    if test := gates["correct_against_wrong"]:
        claim = "the r-gate is more open when the choice is right (difference)"
        gap = test["correct"] - test["wrong"]
        found.append(
            Check(claim, gap, f"> 0 with p = {test['p']:.1g} < .05", gap > 0 and test["p"] < 0.05)
        )
    return found


TWO_STEP = Experiment(
    name="two-step",
    title="Experiment 5: episodic two-step task",
    section="4.5, Fig. 6",
    summary="two-stage choices, some of them cued by an earlier episode",
    world=EpisodicTwoStep,
    agents=("epl2rl", "l2rl", "l2rl-context"),
    presets={"quick": QUICK, "paper": PAPER},
    optimum=two_step_values,
    ceilings={
        "epl2rl": "with_memory",
        "epl2rl-input": "with_memory",
        "l2rl": "without_memory",
        "l2rl-context": "without_memory",
    },
    lines={
        "ideal with episodic recall": "with_memory",
        "ideal without it": "without_memory",
        "chance": "chance",
    },
    checks=checks,
    judge=judge,
    glance=glance,
    milestones=(0.05, 0.1, 0.2, 0.4, 0.7, 1.0),
    columns=columns,
    number=".3f",
    figures={
        "choice-weights": lambda results: choice_figures.choice_weights(_first(results)["choices"]),
        "stay": lambda results: choice_figures.stay_panels(_first(results)["choices"]),
        "gates": lambda results: figures.gates_over_epoch(_first(results)["gates"]),
        "weights-in-training": lambda results: choice_figures.weights_in_training(_first(results)),
    },
)


def _first(results: Results) -> Results:
    """The agent that figures are about: epL2RL, or whichever was run first."""
    agents = results["agents"]
    return agents.get("epl2rl") or next(iter(agents.values()))
