"""What `search.json` holds: a `SearchDocument`, or a `StudyDocument` of several searches."""

from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

from reinstate.analysis.results import Provenance

if TYPE_CHECKING:
    Setting = dict[str, float]
    SearchSeconds = dict[str, float]
else:

    class Setting(TypedDict):
        """The hyper-parameters that are searched."""

        learning_rate: float
        entropy_cost: float
        discount: float
        value_cost: float

    class SearchSeconds(TypedDict):
        """How long a search took."""

        compile: float
        train: float


class Score(TypedDict):
    """What one agent earned at one setting."""

    reward: float | None  # per episode, mean over seeds; null where a seed was not finite
    per_seed: list[float | None]


class Trial(TypedDict):
    """A setting that was tried. Trial 0 is the preset's own."""

    number: int
    round: int
    setting: Setting  # by hyper-parameter
    agents: dict[str, Score]


class Place(Score):
    """Where a trial ranks among those of one agent."""

    number: int
    rank: int  # from 1


class Standing(TypedDict):
    """The trials of one agent."""

    trials: int
    failed: int
    best: Place | None
    preset: Place | None  # null where it was not trained
    chosen: Place | None  # the best setting of the agent that was searched for


class Best(Score):
    """The best trial of the agent that was searched for."""

    number: int
    setting: Setting
    options: str  # of the command


class Document(Provenance):
    """What was searched for, and how."""

    preset: str
    score: str  # what a score is, in words
    command: str
    device: str
    experiment: str
    agent: str  # that is searched for
    settings: dict[str, Any]
    ranges: dict[str, Any]
    trials_a_round: int
    draw_seed: int


class SearchDocument(Document):
    """A search: every trial, the best, and where the preset stands."""

    rounds: int
    seconds: SearchSeconds
    trials: list[Trial]
    best: Best | None  # null where no setting stayed finite
    standing: dict[str, Standing]  # by agent


class Studied(TypedDict):
    """One search of a study, at values of what is varied."""

    values: dict[str, Any]
    folder: str
    best: Best | None
    standing: dict[str, Standing]
    seconds: dict[str, float]


class StudyDocument(Document):
    """Several searches, at settings that change shapes or programs."""

    rounds_each: int
    vary: dict[str, list[Any]]
    tried: list[dict[str, Any]]  # values in the order of trials; a proposal may repeat
    studied: list[Studied]  # the best first
    best: NotRequired[Studied]
