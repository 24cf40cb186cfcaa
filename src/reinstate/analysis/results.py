"""What results documents hold: the one place that says so.

`results.json` is a `Results`, `evaluation.json` a `Scores`, `summary.json` a `Summary`. Files may
come from anywhere, so what is read is checked against these types (`reinstate.files.check`). Fields
that a type does not name may be there too: experiments add scores of their own.
"""

from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, Required, TypedDict

from msgspec import Meta

Numbers = Any  # a number, null where it is not known, or lists of these, however deep
Pair = Annotated[list[float], Meta(min_length=2, max_length=2)]  # the two ends of an interval
Probability = Annotated[float, Meta(ge=0, le=1)]
Verdict = Literal["supported", "contradicted", "undecided"]


class OverSeeds(TypedDict):
    """A number, or an array of them, over the seeds of an agent (or over participants)."""

    mean: Numbers
    ci95: Numbers  # low and high end along the last axis; null for a single seed
    per_seed: Any  # list of numbers, or of lists of them; the seed is the first axis
    error: NotRequired[float | None]  # standard error of the mean from a finite evaluation alone


class ByExposure(TypedDict):
    """Scores by how often the context was met; lists run over exposures, from the first."""

    exposure: list[int]
    episodes: list[int]
    reward: OverSeeds
    regret: NotRequired[OverSeeds]
    regret_by_step: NotRequired[Numbers]  # (exposures, steps), cumulative
    regret_by_step_ci95: NotRequired[Numbers]  # low and high along the last axis; null: one seed


class Curve(TypedDict):
    """Reward while learning."""

    episodes: list[int]  # that one lane has played
    steps: list[int]  # that all lanes and seeds have taken
    reward: OverSeeds  # (seeds, points)


class MetricsRow(TypedDict):
    """A line of metrics.jsonl: one epoch."""

    epoch: int
    steps: int
    seconds: float
    reward: list[float]  # per episode, of each seed


class Trajectory(TypedDict):
    """Two ways to the first goal of a context, as numbers of cells."""

    goal: int
    first: list[int]
    second: list[int]


class MazeScores(TypedDict, total=False):
    """Scores of a maze, by exposure."""

    steps_or_end: OverSeeds  # a goal never found counts as the whole episode
    shortest: OverSeeds
    trajectories: list[Trajectory]


class GateScores(TypedDict, total=False):
    """The r-gate at each stage of an episode."""

    stages: list[str]
    over_epoch: Numbers  # (stages, episodes)
    over_epoch_ci95: Numbers
    first_cued: int  # how many episodes come before it
    uncued: OverSeeds  # (seeds, stages), mean over the block
    cued: OverSeeds
    correct: OverSeeds  # at the cue, where the choice was right; per seed
    wrong: OverSeeds


class StoredScores(TypedDict):
    """How large the cell states are that the memory was given."""

    beyond: list[float]  # sizes; the last is where stored states are clipped
    by_exposure: OverSeeds  # (seeds, exposures, sizes), share of units with |c| >= the size


class SignalScores(TypedDict):
    """How well a signal tells known contexts from new ones."""

    auc: OverSeeds  # area under the ROC: 0.5 is chance
    auc_by_exposure: Numbers  # of contexts met once before, twice, …, each against new ones
    roc: Numbers  # hit rate at each rate of false alarms, mean over seeds


class FamiliarityScores(TypedDict, total=False):
    """Whether the first step of an episode tells if its context was met before."""

    false_alarms: list[float]
    similarity: SignalScores  # of the best match in memory
    r_gate: SignalScores  # mean over units


class EliminationScores(TypedDict, total=False):
    """Pulls in new contexts; lists run over the number of contexts met before, from 0."""

    taken: OverSeeds  # (seeds, met), share of first pulls on the good arm of a context met before
    taken_next: OverSeeds  # the same of second pulls, where the first paid nothing
    cannot_tell: Numbers  # of first pulls, by a player who does not know which arms are taken
    recalled: OverSeeds  # share of first pulls on the good arm of the context that came back


class ChoiceWeight(TypedDict):
    """A weight of the choice model over an agent's seeds, each of which is a participant."""

    mean: Numbers
    ci95: Numbers  # null for a single seed
    per_participant: NotRequired[Numbers]  # `per_seed` in documents of earlier versions


class ChoiceScores(TypedDict, total=False):
    """The choice model, fitted to an agent's choices."""

    model: str
    fits: list[dict[str, Any]]
    group: dict[str, dict[str, ChoiceWeight]]  # by part and strategy
    warnings: list[str]
    stay: dict[str, Any]  # by panel


class Scores(TypedDict, total=False):
    """The verdict on frozen weights. Experiments add what they are about."""

    reward: Required[OverSeeds]  # per episode
    reward_by_epoch: Numbers  # (seeds, epochs), mean over the episodes of each evaluation epoch
    by_exposure: ByExposure
    r_gate: OverSeeds  # mean over units and steps
    stored: StoredScores  # of agents with a memory
    slots_used: OverSeeds  # entries of the memory at the end of an epoch
    retrieval: OverSeeds | None  # share of known contexts whose own state came back
    familiarity: FamiliarityScores  # of agents with a memory
    elimination: EliminationScores
    on_training_contexts: dict[str, Any]  # Scores again
    probes: dict[str, OverSeeds]  # reward with an altered memory, by what was done to it
    elsewhere: dict[str, dict[str, Any]]  # in other worlds: reward, and its means by exposure
    milestones: list[dict[str, Any]]  # parts of Scores, each with its epoch
    uncued: OverSeeds  # reward per episode, by block of the two-step task
    cued: OverSeeds
    by_queried: dict[str, Any]  # as by_exposure, of the stimulus that the memory was queried for
    first_pull: dict[str, OverSeeds]  # expected reward of the first pull, by queried stimulus
    r_by_trial: Numbers  # (exposures, trials)
    r_by_trial_ci95: Numbers
    maze: MazeScores
    choices: ChoiceScores
    codings: dict[str, Any]  # weights by coding of an action's value, part and strategy
    gates: GateScores


class AgentResults(Scores, total=False):
    """A trained agent: how it was trained, and the verdict."""

    seeds: list[int]
    train_steps: int
    steps_per_second: float
    curve: Curve
    learner: dict[str, Any]  # of its settings, where it has some of its own
    remembers: bool  # whether it has an episodic memory
    share_of_ceiling: float | None
    recorded: dict[str, Any]  # by which program and command, of an agent joined from other results


class CheckRow(TypedDict):
    """A claim, tested: see analysis/verdicts.py."""

    claim: str
    value: float  # mean over seeds, or the share of them
    ci95: list[float] | None  # null for a single seed
    region: list[float | None]  # low and high end of where the claim puts the value; null: open
    bound: str  # the region in words
    seeds: int
    p: float  # two-sided, against the region's end
    p_holm: NotRequired[float | None]  # adjusted over the paper's claims tested with it; ours: null
    verdict: NotRequired[Verdict]
    section: str  # of the paper
    paper: str  # what the paper says; empty where the claim is ours
    tried: str  # to make it hold
    note: NotRequired[str]  # to be read with the verdict


class Provenance(TypedDict):
    """The program that made a document."""

    version: str
    commit: str | None
    jax: str


class Recorded(Provenance):
    """An experiment as it was measured: what `reinstate reproduce` leaves in results.json."""

    rules: Literal[1]  # by which summaries over seeds were made: see analysis/intervals.py
    experiment: str
    preset: str
    command: str
    date: NotRequired[str]  # on which it was finished, in UTC
    device: str
    settings: dict[str, Any]
    seconds: dict[str, float]  # in all ("total"), and of that each part
    agents: dict[str, AgentResults]
    optimum: dict[str, Any]  # or {"unavailable": why}
    baselines: dict[str, Any]  # Scores by name, or {"unavailable": why}


class Results(Recorded):
    """The same with what follows from it, which is never stored: see runs/conclusions.py."""

    reference_lines: dict[str, float]
    checks: list[CheckRow]
    alarms: list[str]  # what theory rules out and yet was measured: a bug, here or there


class SummaryPart(TypedDict):
    """An experiment's part of a summary."""

    preset: str
    version: str
    commit: str | None
    jax: str
    device: str
    seconds: dict[str, float]
    agents: dict[str, dict[str, Any]]  # reward and share_of_ceiling
    checks: list[CheckRow]
    alarms: list[str]


class Summary(Provenance):
    """Rewards and claims of several experiments: what `reinstate reproduce all` leaves."""

    command: str
    totals: dict[str, float]  # "claims" and verdicts count the paper's own, not "ours"
    experiments: dict[str, SummaryPart]


def results_file(path: Path) -> tuple[Path, Path | None]:
    """Return the results.json of a folder, and the folder; of a file, the file alone."""
    return (path / "results.json", path) if path.is_dir() else (path, None)
