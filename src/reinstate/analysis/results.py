"""What results documents hold: the one place that says so.

`results.json` is a `Results`, `evaluation.json` a `Scores`, `summary.json` a `Summary`. Files may
come from anywhere, so what is read is checked against these types (`checked`); `json_schema` makes
a JSON Schema of them. Fields that a type does not name may be there too: experiments add scores of
their own.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    NotRequired,
    Required,
    TypedDict,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from reinstate.errors import UserError
from reinstate.files import read_json

T = TypeVar("T")


if TYPE_CHECKING:
    Numbers = Any
else:

    class Numbers:
        """A number, null where it is not known, or lists of these, however deep."""


Verdict = Literal["supported", "contradicted", "undecided"]


class OverSeeds(TypedDict):
    """A number, or an array of them, over the seeds of an agent (or over participants)."""

    mean: Numbers
    ci95: Numbers  # low and high end along the last axis; null for a single seed
    per_seed: Numbers  # the seed is the first axis
    error: NotRequired[float | None]  # standard error of the mean from a finite evaluation alone


class ByExposure(TypedDict):
    """Scores by how often the context was met; lists run over exposures, from the first."""

    exposure: list[int]
    episodes: list[int]
    reward: OverSeeds
    regret: NotRequired[OverSeeds]
    regret_by_step: NotRequired[Numbers]  # (exposures, steps), cumulative


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

    steps_to_goal: OverSeeds  # moves to the first goal, where it was found
    steps_or_end: OverSeeds  # a goal never found counts as the whole episode
    found: OverSeeds
    steps_to_later_goals: OverSeeds
    shortest: OverSeeds
    visited: OverSeeds
    sweep: OverSeeds
    trajectories: list[Trajectory]


class GateScores(TypedDict, total=False):
    """The r-gate at each stage of an episode."""

    stages: list[str]
    over_epoch: Numbers  # (stages, episodes)
    first_cued: int  # how many episodes come before it
    uncued: OverSeeds  # (seeds, stages), mean over the block
    cued: OverSeeds
    correct: OverSeeds  # at the cue, where the choice was right; per seed
    wrong: OverSeeds
    correlation_with_usefulness: OverSeeds | None


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
    milestones: list[dict[str, Any]]  # parts of Scores, each with its epoch
    uncued: OverSeeds  # reward per episode, by block of the two-step task
    cued: OverSeeds
    by_queried: dict[str, Any]  # as by_exposure, of the stimulus that the memory was asked for
    first_pull: dict[str, OverSeeds]  # expected reward of the first pull, by stimulus asked for
    r_by_trial: Numbers  # (exposures, trials)
    maze: MazeScores
    choices: ChoiceScores
    gates: GateScores


class AgentResults(Scores, total=False):
    """A trained agent: how it was trained, and the verdict."""

    seeds: list[int]
    train_steps: int
    steps_per_second: float
    curve: Curve
    remembers: bool  # whether it has an episodic memory
    share_of_ceiling: float | None
    recorded: dict[str, Any]  # by which program and command, of an agent joined from other results


class CheckRow(TypedDict):
    """A claim, judged: see analysis/verdicts.py."""

    claim: str
    value: float  # mean over seeds, or the share of them
    ci95: list[float] | None  # null for a single seed
    region: list[float | None]  # low and high end of where the claim puts the value; null: open
    bound: str  # the region in words
    seeds: int
    p: float  # two-sided, against the region's end
    p_holm: NotRequired[float | None]  # adjusted over the paper's claims judged with it; ours: null
    verdict: NotRequired[Verdict]
    section: str  # of the paper
    paper: str  # what the paper says; empty where the claim is ours
    tried: str  # to make it hold


class JudgedBy(TypedDict):
    """The program that judged recorded results again."""

    version: str
    commit: str | None


class Provenance(TypedDict):
    """The program that made a document."""

    version: str
    commit: str | None
    jax: str


class Recorded(Provenance):
    """An experiment from end to end, as it was measured, whatever was concluded from it."""

    experiment: str
    preset: str
    command: str
    device: str
    settings: dict[str, Any]
    seconds: dict[str, float]
    agents: dict[str, AgentResults]
    optimum: dict[str, Any]  # or {"unavailable": why}
    baselines: dict[str, Any]  # Scores by name, or {"unavailable": why}
    reference_lines: dict[str, float]
    rejudged: NotRequired[JudgedBy]


class Results(Recorded):
    """An experiment from end to end: what `reinstate reproduce` leaves."""

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


class Summary(TypedDict):
    """Rewards and claims of several experiments: what `reinstate reproduce all` leaves."""

    command: str
    version: str
    commit: str | None
    jax: str
    totals: dict[str, float]  # "claims" and verdicts count the paper's own, not "ours"
    experiments: dict[str, SummaryPart]


def read_document(kind: type[T], path: Path, inside: Path | None = None) -> T:
    """Read a file and check that it holds a document of this kind.

    `inside` is the folder that the user named, if it is not the file: no link may lead out of it.
    """
    return checked(kind, read_json(path, inside), path)


def results_file(path: Path) -> tuple[Path, Path | None]:
    """Return the results.json of a folder, and the folder; of a file, the file alone."""
    return (path / "results.json", path) if path.is_dir() else (path, None)


def read_results(path: Path) -> "Results":
    """Read what `reproduce` left, a file or its folder; older verdicts are to be renewed first."""
    file, inside = results_file(path)
    document = read_document(Recorded, file, inside)
    checks = cast(dict[str, Any], document).get("checks")
    rows = checks if isinstance(checks, list) else []
    by_older_rules = any(isinstance(row, Mapping) and "holds" in row for row in rows)
    if by_older_rules or (isinstance(checks, list) and "alarms" not in document):
        raise UserError(
            f"{file} was judged by the rules of an earlier version: judge it again with"
            f" reinstate rejudge {file}"
        )
    return checked(Results, document, file)


def checked(kind: type[T], value: Any, path: Path) -> T:
    """Return the value if it is a document of this kind; a UserError names what is wrong."""
    try:
        schema = json_schema(kind)  # type: ignore[arg-type]
        problem = _problem(schema, value, schema["$defs"])
    except RecursionError:
        problem = "it is nested too deep"
    if problem:
        said = " ".join(problem.split())[:200]
        raise UserError(
            f"{path} does not hold results of this program ({said}):"
            " name what reinstate reproduce or train left"
        )
    found: T = value
    return found


_WORDS: dict[str, tuple[Any, str]] = {
    "object": (Mapping, "an object"),
    "array": (list, "a list"),
    "string": (str, "text"),
    "boolean": (bool, "true or false"),
    "null": (NoneType, "nothing"),
    "integer": (int, "a whole number"),
    "number": ((int, float), "a number"),
}


def _problem(schema: Any, value: Any, definitions: Any, where: str = "") -> str | None:
    """Say what is wrong with a value by a schema of `json_schema`, and where; None if nothing."""
    if reference := schema.get("$ref"):
        schema = definitions[reference.rpartition("/")[2]]
    if options := schema.get("anyOf"):
        problems = [_problem(each, value, definitions, where) for each in options]
        words = schema.get("description")
        unmet = _expected(words, value, where) if words else problems[0]
        return None if None in problems else unmet
    if "type" not in schema:
        return None
    types, words = _WORDS[schema["type"]]
    if not isinstance(value, types) or (isinstance(value, bool) and types is not bool):
        return _expected(words, value, where)
    if value not in schema.get("enum", (value,)):
        return _expected(" or ".join(schema["enum"]), value, where)
    parts: Iterable[tuple[Any, Any, str]] = ()
    if schema["type"] == "object":
        for name in schema.get("required", ()):
            if name not in value:
                return f"{f'{where}.{name}'.lstrip('.')} is missing"
        fields, others = schema.get("properties", {}), schema.get("additionalProperties", {})
        parts = ((fields.get(n, others), each, f"{where}.{n}") for n, each in value.items())
    elif schema["type"] == "array":
        parts = ((schema["items"], each, f"{where}[{n}]") for n, each in enumerate(value))
    found = (_problem(part, each, definitions, place) for part, each, place in parts)
    return next((problem for problem in found if problem), None)


def _expected(words: str, value: Any, where: str) -> str:
    shown = " ".join(repr(value).split())
    shown = shown if len(shown) <= 40 else f"{shown[:39]}…"
    return f"{where.lstrip('.') or 'it'} must be {words}, not {shown}"


@cache
def json_schema(kind: Any) -> dict[str, Any]:
    """Make a JSON Schema (2020-12) of a document's type."""
    definitions: dict[str, Any] = {}
    schema = _schema(kind, definitions)
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return {**head, **schema, "$defs": definitions}


def _schema(kind: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    plain, arguments = get_origin(kind) or kind, get_args(kind)
    if plain in (Required, NotRequired):
        return _schema(arguments[0], definitions)
    if plain in (Union, UnionType):
        return {"anyOf": [_schema(each, definitions) for each in arguments]}
    if kind is Any:
        return {}
    if kind is Numbers:
        numbers = {"$ref": "#/$defs/Numbers"}
        kinds = [{"type": "number"}, {"type": "null"}, {"type": "array", "items": numbers}]
        definitions["Numbers"] = {"description": "numbers", "anyOf": kinds}
        return numbers
    if is_typeddict(plain):
        return _schema_of_fields(plain, definitions)
    if plain is dict:
        return {"type": "object", "additionalProperties": _schema(arguments[1], definitions)}
    if plain is list:
        return {"type": "array", "items": _schema(arguments[0], definitions)}
    if plain is Literal:
        return {"type": "string", "enum": list(arguments)}
    names = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}
    return {"type": names[plain]}


def _schema_of_fields(kind: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    if kind.__name__ not in definitions:
        definitions[kind.__name__] = {}  # in place before its fields: they may refer to it
        types = get_type_hints(kind, include_extras=True)
        definitions[kind.__name__] = {
            "type": "object",
            "description": (kind.__doc__ or "").partition("\n")[0],
            "properties": {name: _schema(each, definitions) for name, each in types.items()},
            "required": [name for name in types if name in kind.__required_keys__],
        }
    return {"$ref": f"#/$defs/{kind.__name__}"}
