"""A run on disk: config, metrics, checkpoints, results. Nothing else touches files.

    RUN/config.json                        what was asked for, and by which version
    RUN/metrics.jsonl                      one line an epoch
    RUN/checkpoints/epoch-00010.safetensors  all that training carries, exactly
    RUN/evaluation.json                    frozen weights, judged

Every file is written under a temporary name and renamed, so that a reader never sees half of one.
No pickle: loading a stranger's run executes nothing.
"""

import io
import json
import os
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from reinstate.errors import UserError
from reinstate.settings import differences

FORMAT = "reinstate-checkpoint-1"


class Run:
    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def metrics_path(self) -> Path:
        return self.path / "metrics.jsonl"

    def create(self, config: dict[str, Any], resume: bool) -> None:
        """Start here, or make sure that what is here is the same run."""
        if self.path.exists() and not self.path.is_dir():
            raise UserError(f"{self.path} is a file: choose another --out")
        if (self.path / "config.json").exists():
            if not resume:
                raise UserError(
                    f"{self.path} already holds a run: add --resume to continue it,"
                    " or choose another --out"
                )
            changed = differences(self.read_config(), config)
            if changed:
                raise UserError(
                    f"cannot resume {self.path} with other settings ({'; '.join(changed)}):"
                    " repeat the run's own, or choose another --out"
                )
        elif self.path.exists() and any(self.path.iterdir()):
            raise UserError(f"{self.path} is not empty and holds no run: choose another --out")
        else:
            write_json(self.path / "config.json", {"config": config, **provenance()})

    def read_config(self) -> dict[str, Any]:
        saved = read_json(self.path / "config.json")
        if not isinstance(saved, dict) or not isinstance(saved.get("config"), dict):
            raise UserError(f"{self.path / 'config.json'} is not the config of a run")
        return saved["config"]

    def append_metrics(self, row: dict[str, Any]) -> None:
        with _disk_errors(self.metrics_path), open(self.metrics_path, "a") as file:
            file.write(json.dumps(row) + "\n")

    def read_metrics(self, up_to: int | None = None) -> list[dict[str, Any]]:
        """The rows of epochs up to one; a last line cut short by a crash does not count."""
        rows = []
        if self.metrics_path.exists():
            for line in self.metrics_path.read_text().splitlines():
                try:
                    row = json.loads(line)
                except json.JSONDecodeError:
                    break
                if up_to is None or row["epoch"] <= up_to:
                    rows.append(row)
        return rows

    def truncate_metrics(self, epoch: int) -> None:
        """Forget what came after a checkpoint: resuming plays it again."""
        rows = self.read_metrics(epoch)
        write_atomically(
            self.metrics_path, "".join(json.dumps(row) + "\n" for row in rows).encode()
        )

    def save_checkpoint(self, state: Any, epoch: int) -> Path:
        path = self.path / "checkpoints" / f"epoch-{epoch:05d}.safetensors"
        arrays = {name: np.asarray(_raw(leaf)) for name, leaf in _leaves(state).items()}
        metadata = {"format": FORMAT, "epoch": str(epoch)}
        write_atomically(path, save(arrays, metadata))
        return path

    def last_checkpoint(self) -> Path | None:
        found = sorted((self.path / "checkpoints").glob("epoch-*.safetensors"))
        return found[-1] if found else None


def load_checkpoint(path: Path, template: Any) -> tuple[Any, int]:
    """A checkpoint's state and epoch, if it fits the template (arrays, or only their shapes)."""
    try:
        with safe_open(path, "numpy") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise UserError(
            f"{path} cannot be read ({error}): it is cut short or no checkpoint; delete it to"
            " continue from the one before"
        ) from None
    if metadata.get("format") != FORMAT:
        raise UserError(f"{path} is not a checkpoint of this program")
    wanted = _leaves(template)
    for name in sorted(wanted.keys() | arrays.keys()):
        have = arrays[name].shape if name in arrays else "nothing"
        want = jax.eval_shape(_raw, wanted[name]).shape if name in wanted else "nothing"
        if have != want:
            raise UserError(f"{path} is of another agent: {name} is {have}, expected {want}")
    leaves = [_typed(arrays[name], leaf) for name, leaf in wanted.items()]
    return jax.tree.unflatten(jax.tree.structure(template), leaves), int(metadata["epoch"])


def _leaves(tree: Any) -> dict[str, Any]:
    return {jax.tree_util.keystr(path): leaf for path, leaf in jax.tree.leaves_with_path(tree)}


def _is_key(leaf: Any) -> bool:
    return jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _raw(leaf: Any) -> Any:
    """Random keys as the plain integers they are made of."""
    return (
        jax.random.key_data(leaf)
        if jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        else leaf
    )


def _typed(array: np.ndarray, leaf: Any) -> Any:
    if _is_key(leaf):
        return jax.random.wrap_key_data(jax.numpy.asarray(array))
    return jax.numpy.asarray(array, leaf.dtype)


def write_record(path: Path, record: Any) -> None:
    """Every step of an evaluation as a plain .npz; nested names are joined by dots."""
    arrays = {name.lstrip("."): leaf for name, leaf in _leaves(record).items()}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    write_atomically(path, buffer.getvalue())


def write_json(path: Path, value: Any) -> None:
    write_atomically(path, (json.dumps(value, indent=1) + "\n").encode())


def read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text())
    except FileNotFoundError:
        raise UserError(f"{path} does not exist") from None
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read: {error}") from None


def write_atomically(path: Path, content: bytes) -> None:
    """Write beside, then rename: whatever happens, `path` holds the old or the new in full."""
    with _disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        try:
            with open(beside, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)


class _disk_errors:
    """A full or read-only disk is the user's to mend: say so in one line."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, OSError):
            reason = error.strerror or str(error)
            raise UserError(
                f"cannot write {self.path}: {reason}; what was saved before is kept"
            ) from None


def provenance() -> dict[str, Any]:
    """Which program this is: for every file that holds results."""
    return {"version": version("reinstate"), "commit": commit(), "jax": jax.__version__}


def commit() -> str | None:
    """The commit of the source tree this runs from, marked if files have changed since."""

    def git(*words: str) -> str | None:
        try:
            done = subprocess.run(
                ["git", "-C", str(Path(__file__).parent), *words], capture_output=True, text=True
            )
        except OSError:
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    # An installed copy may lie inside somebody else's repository: only a tracked file counts.
    if git("ls-files", "--error-unmatch", Path(__file__).name) is None:
        return None
    head = git("rev-parse", "HEAD")
    return f"{head}+changes" if git("status", "--porcelain", "-uno") else head
