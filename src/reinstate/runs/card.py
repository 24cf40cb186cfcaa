"""The card of a run: a README.md with the front matter that model hubs read.

It says what was trained, how to train it again, how to load it, and what it earns. A folder of its
config.json, weights.safetensors and this is all that `reinstate.load` needs.
"""

import json
import shlex
from collections.abc import Mapping
from typing import Any

from reinstate.analysis.results import Scores
from reinstate.analysis.verdicts import with_interval
from reinstate.files import write_atomically, write_document
from reinstate.runs.experiment import Experiment
from reinstate.runs.run import Run, open_run
from reinstate.settings import MEMORY_KIND, flat, to_dict

NAME = "README.md"
KIND = "memory.kind"  # as files have it
SET = ("memory", "network", "evaluation")  # what is no option of its own


def save_scores(run: Run, scores: Scores) -> None:
    """Write what frozen weights earned, and the card that says so."""
    write_document(run.evaluation_path, {**scores})
    write_card(run, scores)


def write_card(run: Run, scores: Scores | None = None) -> None:
    """Write the card of a run; without scores, only where there is none."""
    if scores is None and (run.path / NAME).exists():
        return
    experiment, agent, settings = open_run(run.path)
    name, values = f"{agent} in {experiment.name}", dict(flat(to_dict(settings)))
    metrics, said = [], "Not evaluated yet."
    if scores is not None:
        what = f"reward per episode, mean over seeds ({settings.seeds}) [95% interval]"
        earned = with_interval(scores["reward"], experiment.number)
        metrics = [{"type": "mean_reward", "name": what, "value": earned}]
        said = f"Frozen weights on fresh tasks earn {earned}: {what}."
    task = {"type": "reinforcement-learning", "name": "reinforcement-learning"}
    data = {"type": experiment.name, "name": experiment.title}
    front = {
        "library_name": "reinstate",
        "pipeline_tag": "reinforcement-learning",
        "tags": ["reinforcement-learning", "meta-learning", "jax", experiment.name, agent],
        "model-index": [
            {"name": name, "results": [{"task": task, "dataset": data, "metrics": metrics}]}
        ],
    }
    table = "\n".join(f"| {name} | {value} |" for name, value in values.items())
    text = f"""---
{json.dumps(front, indent=2, ensure_ascii=False)}
---

# {name}

{experiment.summary[:1].upper() + experiment.summary[1:]}. {said}
Trained with reinstate {run.read_saved()["version"]}.

```python
import reinstate

trained = reinstate.load("FOLDER")  # this one
trained.evaluate()["reward"]
```

Watch it, or train the same again:

```console
reinstate watch {experiment.name} FOLDER
{command_of(experiment, agent, values)}
```

| setting | value |
|---|---|
{table}
"""
    write_atomically(run.path / NAME, text.encode())


def command_of(experiment: Experiment, agent: str, values: Mapping[str, Any]) -> str:
    """Return a command that trains the same, from the preset that differs in least."""

    def changes(preset: str) -> dict[str, Any]:
        usual = dict(flat(to_dict(experiment.preset(preset).for_agent(agent))))
        return {name: value for name, value in values.items() if usual.get(name) != value}

    preset = min(experiment.presets, key=lambda preset: len(changes(preset)))
    words = ["reinstate", "train", experiment.name, "--agent", agent, "--preset", preset]
    for name, value in changes(preset).items():
        if name.partition(".")[0] in SET:
            words += ["--set", f"{MEMORY_KIND if name == KIND else name}={value}"]
        else:
            words += [f"--{name}", str(value)]
    return shlex.join(words)
