"""Files for clusters, which cannot run here: they parse, and call what exists."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]

from reinstate import cli
from reinstate.runs.sweep import Asked, plan, read_file

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "examples/clusters"
FILES = {path.name: path.read_text(encoding="utf-8") for path in sorted(FOLDER.iterdir())}
SCRIPTS = [name for name in FILES if name.endswith(".sh")]
COMMAND = re.compile(r"(?<![\w/.:-])reinstate ((?:sweep|train|reproduce) [^\n&'#]*)")
VARIABLE = r"\$(?:\{[^}]+\}|\w+)"


def commands_of(text: str) -> list[list[str]]:
    """The words of every command of ours; what a shell would put in is 1, or 1 of 2 processes."""
    joined = re.sub(r"\\\n\s*", " ", text)
    counted = re.sub(rf'(--distributed "[^"]*,){VARIABLE}"', r'\g<1>2"', joined)
    filled = re.sub(VARIABLE, "1", counted)
    return [shlex.split(line) for line in COMMAND.findall(filled)]


@pytest.mark.parametrize("name", [name for name in FILES if name != "sweep.toml"])
def test_commands_parse(name: str) -> None:
    found = commands_of(FILES[name])
    assert found
    for words in found:
        cli.parse(words)


@pytest.mark.skipif(not shutil.which("bash"), reason="there is no bash")
@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_parse(name: str) -> None:
    subprocess.run(["bash", "-n", str(FOLDER / name)], check=True)


def test_documents_parse() -> None:
    kinds = {n: yaml.safe_load(text) for n, text in FILES.items() if n.endswith(".yaml")}
    for name in ("kubernetes-sweep.yaml", "kubernetes-train.yaml"):
        (jobs,) = kinds[name]["spec"]["replicatedJobs"]
        pod = jobs["template"]["spec"]["template"]["spec"]
        assert kinds[name]["kind"] == "JobSet" and pod["restartPolicy"] == "Never"
        subprocess.run(["bash", "-n", "-c", pod["containers"][0]["args"][0]], check=True)
    train, sky = kinds["kubernetes-train.yaml"], kinds["skypilot.yaml"]
    (jobs,) = train["spec"]["replicatedJobs"]
    first = f"{train['metadata']['name']}-{jobs['name']}-0-0.{train['metadata']['name']}:"
    words = jobs["template"]["spec"]["template"]["spec"]["containers"][0]["args"][0]
    count = jobs["template"]["spec"]["completions"]
    assert re.search(rf'--distributed "{first}\d+,\$JOB_COMPLETION_INDEX,{count}"', words)
    subprocess.run(["bash", "-n", "-c", sky["setup"] + sky["run"]], check=True)


def test_the_sweep_of_the_examples_can_be_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reinstate.runs.size.require_room", lambda *what, **how: None)
    assert len(plan(Asked(**read_file(FOLDER / "sweep.toml")))) == 12
