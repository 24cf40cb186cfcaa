"""Experiment 5, section 4.5: which strategies does an agent with episodic memory learn?"""

from dataclasses import replace
from typing import Any, cast

import numpy as np

from reinstate.agent import Network
from reinstate.analysis.results import AgentResults, ChoiceWeight, GateScores, Scores
from reinstate.analysis.verdicts import Region, over_seeds
from reinstate.choices import model
from reinstate.choices.model import NAMES, STRATEGIES, from_record
from reinstate.evaluation import Evaluation, Record
from reinstate.memory import DND
from reinstate.registry import later
from reinstate.runs.experiment import (
    LEARNER,
    STANDARD_CHARTS,
    Agents,
    Baselines,
    Check,
    ComposedFigure,
    Experiment,
    Values,
)
from reinstate.settings import Settings
from reinstate.tasks.two_step import EpisodicTwoStep
from reinstate_paper import claims
from reinstate_paper.margins import GATE, MORE, USES

# The incremental strategies need what happened in the last episodes: ten are back-propagated.
QUICK: Settings[EpisodicTwoStep, DND] = Settings(
    task=EpisodicTwoStep(),
    seeds=4,
    network=Network(reset="epoch"),
    learner=replace(LEARNER, epochs=300, episodes_per_update=10),
    evaluation=Evaluation(epochs=200),
)

PAPER = replace(
    QUICK,
    seeds=30,
    learner=replace(QUICK.learner, lanes=128, epochs=1000, unroll=2),
    evaluation=Evaluation(epochs=100),  # with 30 seeds, six times the paper's 500 epochs
)

TRIED_IMF = "six stages of training; learned values; no perseveration in the model"


def scores(world: EpisodicTwoStep, record: Record) -> Scores:
    from reinstate.analysis.exposures import rewards_over_seeds
    from reinstate.analysis.gates import gate_scores
    from reinstate.choices.fits import fit_choices

    reward = np.asarray(record.reward).sum(axis=-1)  # (seeds, epochs, episodes)
    choices = from_record(record)
    fitted: Any = fit_choices(choices)
    del fitted["rows"]  # the weights of every seed are in the group too
    scores: Scores = {
        "reward": rewards_over_seeds(reward),
        "uncued": rewards_over_seeds(reward[:, :, : world.uncued]),
        "choices": fitted,
        "gates": cast(GateScores, gate_scores(record)),
        "codings": by_coding(choices),
    }
    if world.cued:
        scores["cued"] = rewards_over_seeds(reward[:, :, world.uncued :])
    return scores


# The paper fits "the softmax of a weighted sum of action values", which leaves open what an outcome
# does to the value of the action not taken. Of the previous or the cued episode (a, s, r):
#
#     ±1        x_MF = (2r − 1) sgn(a)   x_MB = (2r − 1) sgn(s)    no reward speaks for the other
#     0/1       x_MF = r sgn(a)          x_MB = r sgn(s)           no reward: nothing
#     literal   x_MF = r sgn(a)          x_MB = r sgn(a) [common]  repeat if rewarded and common
REWARDED = np.append(np.arange(model.NONE) % 2, 0)
COMMON = np.append(np.arange(model.NONE) // 4 == np.arange(model.NONE) // 2 % 2, 0)
CODINGS = {  # model-free and model-based predictors, by the code of an outcome
    "±1": (model.MODEL_FREE, model.MODEL_BASED),
    "0/1": (REWARDED * model.SIGN, REWARDED * model.MODEL_BASED),
    "literal": (REWARDED * model.SIGN, REWARDED * COMMON * model.SIGN),
}


def by_coding(choices: model.Choices) -> dict[str, Any]:
    """Fit every participant under every coding: weights by coding, part and strategy."""
    from reinstate.choices.likelihood import fit_weights

    counts = model.count_choices(choices)
    found: dict[str, Any] = {coding: {} for coding in CODINGS}
    for part, names in NAMES.items():
        previous, cue = model.pattern_codes(part)
        if not counts[:, previous, cue].any():
            continue
        for coding, (free, based) in CODINGS.items():
            columns = {"IMF": free[previous], "IMB": based[previous]}
            columns |= {"EMF": free[cue], "EMB": based[cue]}
            x = model.predictors(names, previous, cue, **columns)
            data = [model.group_one_back(own, part)._replace(x=x) for own in counts]
            weights = np.array([fit_weights(own, names).estimate for own in data]).T
            own = {name: over_seeds(each) for name, each in zip(names, weights, strict=True)}
            found[coding][part] = own
    return found


def columns(agent: AgentResults) -> dict[str, float]:
    from reinstate.figures.chart import at

    means = {part: at(agent, part, "mean") for part in ("uncued", "cued")}
    return {part: mean for part, mean in means.items() if mean is not None}


def milestone_scores(verdict: Scores) -> dict[str, Any]:
    """What of a verdict is kept at milestones."""
    rewards = {part: verdict.get(part) for part in ("reward", "uncued", "cued")}
    kept: dict[str, Any] = {part: reward for part, reward in rewards.items() if reward}
    return {**kept, "weights": verdict["choices"]["group"]}


def checks(agents: Agents, optimum: Values, baselines: Baselines) -> list[Check]:
    """Section 4.5's statements, for whichever of its agents were run."""
    found: list[Check] = []
    cued = {name for name in agents if "cued" in agents[name]}
    if {"epl2rl", "l2rl"} <= cued:
        said = "epL2RL achieves more reward than L2RL (Fig. 6a)"
        found.append(claims.outperforms(agents, "epl2rl", "l2rl", optimum, paper=said))
    if "epl2rl" in cued:
        agent = agents["epl2rl"]
        found.append(_exploits_cues(agent, optimum))
        found += _strategies(agent["choices"]["group"]) + _gates(agent["gates"])
    if cued:
        found += claims.memory_as_input(agents, optimum)
    if {"epl2rl", "l2rl-context"} <= cued:
        found.append(claims.outperforms(agents, "epl2rl", "l2rl-context", optimum))
    if "epl2rl" in cued:
        found.append(_episodic_above_all(agent["choices"]["group"]["cued"]))
        found += claims.no_worse(agents, optimum)
    return claims.of_section("4.5", found)


def _exploits_cues(agent: AgentResults, optimum: Values) -> Check:
    text = "epl2rl earns more than the best that ignores the cues, on cued episodes (lead)"
    said = "its reward is evidence that epL2RL exploits the cues (Fig. 6a)"
    least = MORE.size * (optimum["episodic_cued"] - optimum["counting_cued"])
    lead = np.array(agent["cued"]["per_seed"], float) - optimum["counting_cued"]
    bound = f"at least {least:.4f}: a tenth of what ideal recall adds to cued episodes"
    return claims.claim(text, lead, Region(low=least), bound, paper=said)


def _strategies(group: dict[str, Any]) -> list[Check]:
    """Fig. 6b: each weight as a share of the largest of the same episodes."""
    said = "epL2RL uses IMF and IMB on uncued episodes, IMF, IMB and EMB on cued ones (Fig. 6b)"
    found = []
    for part, names in (("uncued", ("IMF", "IMB")), ("cued", ("IMF", "IMB", "EMB"))):
        for name in names:
            text = f"epl2rl uses {name} on {part} episodes (weight, as a share of the largest)"
            tried = TRIED_IMF if name == "IMF" else ""
            share, bound = _share(group[part], name), claims.words(USES, USES.size)
            region = Region(low=USES.size)
            found.append(claims.claim(text, share, region, bound, paper=said, tried=tried))
    text = "epl2rl does not use EMF on cued episodes (weight, as a share of the largest)"
    region = Region(-USES.size, USES.size)
    bound = claims.words(USES, USES.size, "within ±")
    found.append(claims.claim(text, _share(group["cued"], "EMF"), region, bound, paper=said))
    return found


def _share(weights: dict[str, ChoiceWeight], name: str) -> Any:
    """Return a strategy's weight over the largest, in size, of the same seed and episodes."""
    each = {n: np.array(weights[n]["per_participant"]) for n in STRATEGIES if n in weights}
    return claims.ratio(each[name], np.max(np.abs(list(each.values())), axis=0), 0.0)


def _episodic_above_all(weights: dict[str, ChoiceWeight]) -> Check:
    """Ours: the paper does not rank the strategies."""
    episodic = np.array(weights["EMB"]["per_participant"])
    others = np.max([weights[n]["per_participant"] for n in STRATEGIES if n != "EMB"], axis=0)
    text = "EMB is epl2rl's largest weight on cued episodes (lead over the next)"
    return claims.claim(text, episodic - others, Region(low=0.0), "more than 0")


def _gates(gates: Any) -> list[Check]:
    """Fig. 6c and its text."""
    cued, uncued = (np.array(gates[part]["per_seed"], float).T for part in ("cued", "uncued"))
    region, bound = Region(low=GATE.size), f"at least {GATE.size}: {GATE.why}"
    said = "in all stages the r-gates open more when the cued block starts (Fig. 6c)"
    text = "the r-gate is more open on cued episodes, in every stage (smallest difference)"
    found = [claims.every(text, cued - uncued, region, bound, paper=said)]
    text = "the r-gate is most open at the cue, on cued episodes (lead over the next stage)"
    said = "the gate is most open at the action stage (Fig. 6c)"
    lead = cued[0] - cued[1:].max(axis=0)
    found.append(claims.claim(text, lead, region, bound, paper=said))
    if "correct" in gates:
        text = "the r-gate is more open when the choice is right (difference)"
        said = "0.365 when the choice is right, 0.358 when it is wrong, p < 1e-20"
        right, wrong = (np.array(gates[n]["per_seed"], float) for n in ("correct", "wrong"))
        found.append(claims.claim(text, right - wrong, region, bound, paper=said))
    return found


TWO_STEP = Experiment(
    name="two-step",
    title="Experiment 5: episodic two-step task",
    section="4.5, Fig. 6",
    summary="two-stage choices, some of them cued by an earlier episode",
    world=EpisodicTwoStep,
    agents=("epl2rl", "l2rl", "l2rl-context", "epl2rl-input"),
    presets={"quick": QUICK, "paper": PAPER},
    optimum=later("reinstate.baselines.two_step:two_step_optimum"),
    lines={
        "ideal with episodic recall": "with_memory",
        "ideal without it": "without_memory",
        "chance": "chance",
    },
    checks=checks,
    scores=scores,
    milestone_scores=milestone_scores,
    milestones=(0.05, 0.1, 0.2, 0.4, 0.7, 1.0),
    columns=columns,
    number=".3f",
    charts={
        "training-curves": STANDARD_CHARTS["training-curves"],
        "choice-weights": later("reinstate.figures.choices:choice_weights"),
        "stay": later("reinstate.figures.choices:stay"),
        "gates": later("reinstate.figures.exposures:gates"),
        "weights-in-training": later("reinstate.figures.choices:weights_in_training"),
        "memory-as-input": later("reinstate_paper.figures:memory_as_input"),
    },
    figures={"6": ComposedFigure(("two-step",), later("reinstate_paper.figures:figure_6"))},
)
