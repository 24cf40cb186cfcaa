"""Let Optuna choose sizes: a search of `reinstate tune` at each of its trials.

Rates are trained side by side; the width of the LSTM and the number of lanes change shapes, so each
of their combinations is a search of its own, in a folder of its own.

    pip install optuna
    python examples/tune_with_optuna.py
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

from reinstate.runs.experiment import find_experiment
from reinstate.runs.progress import Reporter
from reinstate.runs.search import Asked, Search, best_for, search

AGENT = "l2rl"


def value_of(
    hidden_size: int, lanes: int, out: Path, settings: Any = None, trials: int = 16
) -> float:
    """Search at these sizes; return the best reward that was found."""
    experiment = find_experiment("barcode-bandits")
    settings = settings or replace(experiment.preset("quick"), seeds=2)
    settings = replace(
        settings,
        network=replace(settings.network, hidden_size=hidden_size),
        learner=replace(settings.learner, lanes=lanes),
    )
    asked = Asked(experiment, "quick", (AGENT,), settings, Search(trials=trials))
    folder = out / f"hidden_size={hidden_size},lanes={lanes}"
    found = search(asked, folder, Reporter(), command="examples/tune_with_optuna.py")
    best = best_for(found["trials"], AGENT)
    return float("-inf") if best is None else best["agents"][AGENT]["reward"] or 0.0


def main(trials: int = 8, out: Path = Path("sizes")) -> None:
    """Continue the study in a folder: finished trials and searches are kept there."""
    import optuna

    def objective(trial: Any) -> float:
        hidden_size = trial.suggest_categorical("hidden_size", [25, 50, 100])
        return value_of(hidden_size, trial.suggest_categorical("lanes", [16, 32]), out)

    out.mkdir(exist_ok=True)
    storage = f"sqlite:///{out / 'study.db'}"
    study = optuna.create_study(
        storage=storage, study_name="sizes", direction="maximize", load_if_exists=True
    )
    study.optimize(objective, n_trials=trials)
    print(study.best_params, study.best_value)


if __name__ == "__main__":
    main()
