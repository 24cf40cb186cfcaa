"""Choices fitted, from wherever they come; and the folder and the tables that hold them.

OUT/weights.csv           one row per participant, part (uncued, cued) and weight
OUT/fit.json              the same with fits, group, models compared, stay probabilities, warnings
OUT/choice-weights.png    and .svg
OUT/stay.png              and .svg
"""

import csv
import io
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from reinstate.choices.agents import RATES, recovery
from reinstate.choices.comparison import Posterior, save_draws
from reinstate.choices.documents import ROW, ChoiceFit, Recovery, WeightRow, summary
from reinstate.choices.fits import fit_table
from reinstate.choices.likelihood import PRIOR_SD
from reinstate.choices.model import Choices, Design, design_of, simulate
from reinstate.choices.tables import COLUMNS, PARQUET, ChoiceTable, read_choices
from reinstate.errors import UserError
from reinstate.figures import choices as charts
from reinstate.figures import mpl
from reinstate.files import check, new_folder, read_json, write_atomically, write_document
from reinstate.runs.provenance import provenance

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EXAMPLE = {"IMF": 0.3, "IMB": 1.2, "EMF": 0.2, "EMB": 1.0, "bias": 0.1, "perseveration": 0.3}


def fit_choices(
    data: Any,
    model: str = "one-back",
    *,
    columns: Mapping[str, str] | None = None,
    common: Mapping[str, str] | None = None,
    signed_rewards: bool = False,
    skip_bad: bool = False,
    compare: bool = False,
    prior_sd: float = PRIOR_SD,
    seed: int = 0,
) -> "FittedChoices":
    """Find the strategies that explain choices in the two-step task.

    `data` is the path of a table, a data frame, a dict of columns, or `Choices`. `model` is
    one-back, learned or hierarchical; `compare` fits rival models too. How the table is read,
    `read_choices` says. `prior_sd` is the weak prior of maximum likelihood, `seed` the sampler's.
    """
    table = _table(data, columns, common, skip_bad, signed_rewards)
    document, posteriors = fit_table(table, model, prior_sd, seed, compare)
    return FittedChoices({**document, **provenance()}, posteriors)


def _table(data: Any, *how: Any) -> ChoiceTable:
    if not isinstance(data, Choices):
        return read_choices(data, *how)
    names = [str(code) for code in range(int(data.participant.max(initial=-1)) + 1)]
    return ChoiceTable(data, names, ["0", "1"], ["0", "1"])


class FittedChoices(dict[str, Any]):
    """Fitted choices: what was found, to read, to plot and to save.

    It is a dict of everything that fit.json holds: `found["group"]["cued"]["EMB"]`.
    """

    def __init__(self, document: Mapping[str, Any], posteriors: Sequence[Posterior] = ()) -> None:
        super().__init__(document)
        self.posteriors = posteriors

    def __repr__(self) -> str:
        data = self["data"]
        played = f"{data['participants']} participants, {data['episodes']:,} episodes"
        return f"<FittedChoices: {self['model']}, {played}>"

    @property
    def document(self) -> ChoiceFit:
        """The same, of its type."""
        return cast(ChoiceFit, self)

    @property
    def label(self) -> str:
        """What figures call these participants."""
        file = self["data"]["file"]
        return label_of(Path(file)) if file else "participants"

    @property
    def participants(self) -> list[WeightRow]:
        """One row per participant, part and weight; `pandas.DataFrame` takes them as they are."""
        group = {"group mean", "group sd"} if self["model"] == "hierarchical" else set()
        return [row for row in self["rows"] if row["participant"] not in group]

    def summary(self) -> str:
        """Return weights, models compared and stay probabilities as text."""
        return summary(self.document)

    def plot(self, beside: "Mapping[str, FittedChoices] | None" = None) -> "Figure":
        """Draw weights and stay probabilities, perhaps beside those of others, by their names."""
        every = {self.label: self, **self.get("beside", {}), **(beside or {})}
        return mpl.draw([*charts.fitted_weights(every), *charts.fitted_stay(every)])

    def put_beside(self, label: str, other: "FittedChoices") -> None:
        """Keep another fit beside this one: figures show both, and fit.json holds both."""
        beside = self.setdefault("beside", {})
        taken = {*beside, self.label}
        if label in taken:
            label = next(f"{label} ({n})" for n in count(2) if f"{label} ({n})" not in taken)
        beside[label] = {name: value for name, value in other.items() if name != "beside"}

    def save(self, out: str | Path) -> None:
        """Write fit.json, weights.csv and the figures into a new folder: all of them, or none."""
        every = {self.label: self.document, **self.get("beside", {})}
        with new_folder(Path(out), "choose another --out") as folder:
            write_document(folder / "fit.json", self)
            write_tidy(self.document, folder / "weights.csv")
            mpl.save(charts.fitted_weights(every), folder / "choice-weights")
            mpl.save(charts.fitted_stay(every), folder / "stay")

    def save_draws(self, path: str | Path) -> None:
        """Write the hierarchical model's posterior draws as NetCDF, for ArviZ."""
        if not self.posteriors:
            raise UserError("only the hierarchical model has posterior draws: choose that model")
        save_draws(self.posteriors, Path(path))

    def recovery(self, seed: int = 0) -> Recovery:
        """Simulate agents who play as much as these participants, with weights around theirs.

        They are fitted by the same model: how well do weights come back that differ as these do?
        """
        how = {"model": self["model"], "alpha": RATES[self["model"]]}
        return recovery(seed=seed, like=self.document, **how, **self["data"]["design"])


def fit_beside(path: str | Path, model: str, how: Mapping[str, Any]) -> FittedChoices:
    """Fit a table to be shown beside another, or read an earlier fit by the same model.

    `how` are the options of the other: the table is read with them, or else by our own names.
    """
    if is_fit(path):
        found = FittedChoices(read_fit(path))
        if found["model"] != model:
            raise UserError(f"{path} is fitted by the {found['model']} model, not by {model}")
        return found
    try:
        return fit_choices(path, model, **how)
    except UserError as error:
        plain = {name: how[name] for name in ("skip_bad", "prior_sd", "seed") if name in how}
        try:
            return fit_choices(path, model, **plain)
        except UserError:
            raise error from None


def label_of(path: Path) -> str:
    """Name a table or a fit by its file or folder."""
    while path.suffix in (".gz", ".csv", ".txt", ".tsv", *PARQUET):
        path = path.with_suffix("")
    return path.parent.name if path.name == "fit.json" else path.name


def read_fit(path: str | Path) -> ChoiceFit:
    """Read the fit.json of a folder, or a file of that kind."""
    file = Path(path) / "fit.json" if Path(path).is_dir() else Path(path)
    advice = "name what reinstate fit-choices left"
    found = check(ChoiceFit, read_json(file), file, "hold a fit of choices", advice)
    if "data" not in found:
        raise UserError(f"{file} does not hold a fit of a table: {advice}")
    return found


def is_fit(path: str | Path) -> bool:
    """Tell the folder or the file of a fit from a table."""
    return Path(path).is_dir() or Path(path).suffix == ".json"


def read_design(path: str | Path, **how: Any) -> Design:
    """Take the design of a table of choices, read with these options, or of its fit's folder."""
    if is_fit(path):
        return Design(**read_fit(path)["data"]["design"])
    return design_of(read_choices(path, **how).choices)


def save_recovery(document: Recovery, out: Path) -> None:
    """Write recovery.json, recovery.csv and the figure of a `Recovery`, or none."""
    with new_folder(out, "choose another --out") as folder:
        write_document(folder / "recovery.json", document)
        write_tidy(document, folder / "recovery.csv")
        mpl.save(charts.recovery(document), folder / "recovery")


def write_tidy(document: ChoiceFit | Recovery, path: Path) -> None:
    """Write the rows as CSV; what does not apply stays empty."""
    lacking = [] if document["model"] == "hierarchical" else ["r_hat", "n_eff"]
    lacking += [] if "coverage" in document else ["true"]
    columns = [name for name in ROW if name not in lacking]
    write_csv(path, columns, [[row.get(name) for name in columns] for row in document["rows"]])


def write_csv(path: Path, header: Sequence[str], rows: list[list[Any]]) -> None:
    """Write a table of plain values; None stays empty."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    write_atomically(path, text.getvalue().encode())


def write_choices(path: str | Path, choices: Choices, participants: Sequence[str]) -> None:
    """Write choices as a table that `read_choices` reads."""
    write_csv(Path(path), COLUMNS, table_rows(choices, participants))


def table_rows(choices: Choices, participants: Sequence[str]) -> list[list[Any]]:
    """Return one row per episode, in the order of `COLUMNS`; sessions and episodes start at 1."""
    people = [participants[code] for code in choices.participant]
    cue = [None if number < 0 else int(number) + 1 for number in choices.cue_episode]
    counted = choices.session + 1, choices.episode + 1, choices.cued.astype(int)
    before, after = ([column.tolist() for column in some] for some in (counted, choices[5:]))
    return [list(row) for row in zip(people, *before, cue, *after, strict=True)]


def example_rows(seed: int = 0) -> list[list[Any]]:
    """Simulate the documented example: 4 participants with 3 sessions of 100 episodes each."""
    rng = np.random.default_rng(seed)
    rows = []
    for person in range(4):
        weights = {name: w + 0.3 * rng.standard_normal() for name, w in EXAMPLE.items()}
        rows += table_rows(simulate(weights, sessions=3, seed=(seed, person)), [f"p{person + 1}"])
    return rows


def write_example(path: str | Path, seed: int = 0) -> None:
    """Write the documented example as CSV."""
    write_csv(Path(path), COLUMNS, example_rows(seed))
