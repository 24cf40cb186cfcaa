"""Experiment 5, section 4.5: which strategies does an agent with episodic memory learn?"""

from dataclasses import replace
from typing import Any, cast

import numpy as np

from reinstate.agent import Network
from reinstate.analysis.gates import gate_scores
from reinstate.analysis.intervals import ALPHA, over_seeds
from reinstate.analysis.results import AgentResults, GateScores, OverSeeds, Scores
from reinstate.baselines.optimum import two_step_optimum
from reinstate.choices.model import STRATEGIES, from_arrays
from reinstate.choices.participants import fit_choices
from reinstate.evaluation import Evaluation, Record
from reinstate.experiments import claims
from reinstate.experiments.base import LEARNER, Agents, Baselines, Check, Experiment, Values
from reinstate.figures.choices import choice_weights, stay, weights_in_training
from reinstate.figures.exposures import gates
from reinstate.figures.learning import training_curves
from reinstate.figures.numbers import at, finite
from reinstate.memory import DND
from reinstate.settings import Settings
from reinstate.tasks.two_step import EpisodicTwoStep

# The incremental strategies need what happened in the last episodes: ten are back-propagated.
QUICK: Settings[EpisodicTwoStep, DND] = Settings(
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


def judge(world: EpisodicTwoStep, record: Record) -> Scores:
    reward = np.asarray(record.reward).sum(axis=-1)  # (seeds, epochs, episodes)
    cue = np.asarray(record.trace.cue_episode)[..., 0]
    choices = from_arrays(record.action[..., 0], record.trace.state[..., 1], reward, cue >= 0, cue)
    fitted: Any = fit_choices(choices)
    del fitted["rows"]  # the weights of every seed are in the group too
    scores: Scores = {
        "reward": over_seeds(reward.mean(axis=(1, 2))),
        "uncued": over_seeds(reward[:, :, : world.uncued].mean(axis=(1, 2))),
        "choices": fitted,
        "gates": cast(GateScores, gate_scores(record)),
    }
    if world.cued:
        scores["cued"] = over_seeds(reward[:, :, world.uncued :].mean(axis=(1, 2)))
    return scores


def columns(agent: AgentResults) -> dict[str, float]:
    means = {part: finite(at(agent, part, "mean")) for part in ("uncued", "cued")}
    return {part: mean for part, mean in means.items() if mean is not None}


def milestone_scores(verdict: Scores) -> dict[str, Any]:
    """What of a verdict is kept at milestones."""
    rewards = {part: verdict.get(part) for part in ("reward", "uncued", "cued")}
    kept: dict[str, Any] = {part: reward for part, reward in rewards.items() if reward}
    return {**kept, "weights": verdict["choices"]["group"]}


def checks(agents: Agents, optimum: Values, baselines: Baselines) -> list[Check]:
    """Section 4.5's statements, for whichever of its agents were run."""
    found: list[Check] = []
    said = {"l2rl": "epL2RL achieves more reward than L2RL (Fig. 6a)"}
    for name in ("l2rl", "l2rl-context"):
        if name in agents and "cued" in agents[name]:
            claim = f"{name} stays within the best that ignores the cues, on cued episodes"
            found.append(claims.within(claim, agents[name]["cued"], optimum["counting_cued"]))
            if "epl2rl" in agents:
                note = said.get(name, "")
                found.append(claims.outperforms(agents, "epl2rl", name, paper=note))
    if "epl2rl" in agents and "cued" in (agent := agents["epl2rl"]):
        claim = "epl2rl earns more than the best that ignores the cues, on cued episodes"
        note = "its reward is evidence that epL2RL exploits the cues (Fig. 6a)"
        found.append(claims.above(claim, agent["cued"], optimum["counting_cued"], paper=note))
        found += _strategies(agent["choices"]["group"]) + _gates(agent["gates"])
    found += claims.input_at_chance(agents, optimum)
    return claims.of_section("4.5", found)


def _strategies(group: dict[str, Any]) -> list[Check]:
    """Fig. 6b: weights, with the t-intervals that are reported beside them."""
    used = "epL2RL uses IMF and IMB on uncued episodes, IMF, IMB and EMB on cued ones (Fig. 6b)"

    def uses(part: str, name: str) -> Check:
        claim = f"epl2rl uses {name} on {part} episodes (weight)"
        tried = "six stages of training; learned values; no perseveration in the model"
        return _weight(claim, group[part][name], True, used, tried if name == "IMF" else "")

    found = [uses("uncued", name) for name in ("IMF", "IMB")]
    found += [uses("cued", name) for name in ("IMF", "IMB", "EMB")]
    cued = {name: group["cued"][name] for name in STRATEGIES}
    mean = {name: cued[name]["mean"] for name in STRATEGIES if name != "EMB"}
    next_one = max(mean, key=lambda name: mean[name])
    claim = f"EMB is epl2rl's largest weight on cued episodes (lead over {next_one})"
    weights = (cued[name]["per_seed"] for name in ("EMB", next_one))
    found.append(claims.more(claim, *weights, paired=True))
    claim = "epl2rl does not use EMF on cued episodes (weight)"
    found.append(_weight(claim, cued["EMF"], False, used))
    return found


def _weight(claim: str, weight: OverSeeds, is_used: bool, said: str, tried: str = "") -> Check:
    """Whether a weight's own interval lies above 0."""
    mean, ci95 = weight["mean"], weight["ci95"]
    low = ci95[0] if ci95 else mean
    how = " for the low end (Student's t)" if ci95 else " (one seed cannot tell)"
    bound = f"{'>' if is_used else '<='} 0{how}"
    holds = (low > 0) == is_used
    return Check(claim, mean, bound, holds, paper=said, ci95=ci95, tried=tried)


def _gates(gates: Any) -> list[Check]:
    """Fig. 6c and the text beside it."""
    cued, uncued = (np.array(gates[part]["per_seed"], float).T for part in ("cued", "uncued"))
    said = "in all stages the r-gates open more when the cued block starts (Fig. 6c)"
    tried = "both presets, with ten seeds and with four"
    found = []
    for stage, *ends in zip(gates["stages"], cued, uncued, strict=True):
        claim = f"the r-gate is more open on cued episodes, {stage} (difference)"
        found.append(claims.more(claim, *ends, paired=True, paper=said, tried=tried))
    claim = "the r-gate is most open at the cue, on cued episodes (lead)"
    said = "the gate is most open at the action stage (Fig. 6c)"
    next_one = cued[1:][cued[1:].mean(axis=1).argmax()]
    found.append(claims.more(claim, cued[0], next_one, paired=True, paper=said))
    if test := gates["correct_against_wrong"]:
        claim = "the r-gate is more open when the choice is right (difference)"
        gap = test["correct"] - test["wrong"]
        bound = f"> 0, {claims.written(test['p'])} (two-tailed t-test over episodes)"
        holds = gap > 0 and test["p"] <= ALPHA
        said = "0.365 when the choice is right, 0.358 when it is wrong, p < 1e-20"
        found.append(Check(claim, gap, bound, holds, paper=said))
    return found


TWO_STEP = Experiment(
    name="two-step",
    title="Experiment 5: episodic two-step task",
    section="4.5, Fig. 6",
    summary="two-stage choices, some of them cued by an earlier episode",
    world=EpisodicTwoStep,
    agents=("epl2rl", "l2rl", "l2rl-context"),
    presets={"quick": QUICK, "paper": PAPER},
    optimum=two_step_optimum,
    ceiling="with_memory",
    ceiling_without_memory="without_memory",
    lines={
        "ideal with episodic recall": "with_memory",
        "ideal without it": "without_memory",
        "chance": "chance",
    },
    checks=checks,
    judge=judge,
    milestone_scores=milestone_scores,
    milestones=(0.05, 0.1, 0.2, 0.4, 0.7, 1.0),
    columns=columns,
    number=".3f",
    charts={
        "training-curves": training_curves,
        "choice-weights": choice_weights,
        "stay": stay,
        "gates": gates,
        "weights-in-training": weights_in_training,
    },
)
