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
import math
import os
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
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

    @property
    def evaluation_path(self) -> Path:
        return self.path / "evaluation.json"

    def create(self, config: dict[str, Any], resume: bool) -> None:
        """Start here, or make sure that what is here is the same run."""
        if not (self.path / "config.json").exists():
            require_empty(self.path, "it holds no run; choose another --out")
            write_json(self.path / "config.json", {"config": config, **provenance()})
        elif not resume:
            raise UserError(
                f"{self.path} already holds a run: add --resume to continue it,"
                " or choose another --out"
            )
        else:
            require_same(self.path, self.read_config(), config)

    def read_config(self) -> dict[str, Any]:
        if not (self.path / "config.json").exists():
            raise UserError(f"{self.path} holds no run: it has no config.json")
        saved = read_json(self.path / "config.json")
        if not isinstance(saved, dict) or not isinstance(saved.get("config"), dict):
            raise UserError(f"{self.path / 'config.json'} is not the config of a run")
        return saved["config"]

    def append_metrics(self, row: dict[str, Any]) -> None:
        with _disk_errors(self.metrics_path), open(self.metrics_path, "a") as file:
            file.write(json.dumps(row) + "\n")

    def read_metrics(self, up_to: float = math.inf) -> list[dict[str, Any]]:
        """The rows of epochs up to one; a last line cut short by a crash does not count."""
        rows: list[dict[str, Any]] = []
        if self.metrics_path.exists():
            for line in self.metrics_path.read_bytes().splitlines():
                try:
                    row = json.loads(line)
                    wanted = row["epoch"] <= up_to
                except (ValueError, TypeError, KeyError):
                    break
                if wanted:
                    rows.append(row)
        return rows

    def write_metrics(self, rows: list[dict[str, Any]]) -> None:
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        write_atomically(self.metrics_path, lines.encode())

    def save_checkpoint(self, state: Any, epoch: int) -> Path:
        path = self.path / "checkpoints" / f"epoch-{epoch:05d}.safetensors"
        arrays = {name: np.asarray(_raw(leaf)) for name, leaf in _leaves(state).items()}
        # One entry alone: safetensors writes several in no fixed order.
        write_atomically(path, save(arrays, {FORMAT: str(epoch)}))
        return path

    def checkpoints(self) -> dict[int, Path]:
        """Epoch → file, in order."""
        found = (self.path / "checkpoints").glob("epoch-*.safetensors")
        names = {path: path.stem.removeprefix("epoch-") for path in found}
        epochs = {int(name): path for path, name in names.items() if name.isdecimal()}
        return {n: epochs[n] for n in sorted(epochs)}

    def last_checkpoint(self) -> Path | None:
        return next(reversed(self.checkpoints().values()), None)


def load_checkpoint(path: Path, template: Any) -> tuple[Any, int]:
    """A checkpoint's state and epoch, if it fits the template (arrays, or only their shapes)."""
    arrays, metadata = _read_safetensors(path)
    epoch = metadata.get(FORMAT, "")
    if not epoch.isdecimal():
        raise UserError(f"{path} is not a checkpoint of this program: choose or restore another")
    wanted = _leaves(template)
    for name in sorted(wanted.keys() | arrays.keys()):
        have = _kind(arrays[name]) if name in arrays else "nothing"
        want = _kind(jax.eval_shape(_raw, wanted[name])) if name in wanted else "nothing"
        if have != want:
            raise UserError(
                f"{path} is of another agent or other settings: {name} is {have}, expected {want}"
            )
    leaves = [_typed(arrays[name], leaf) for name, leaf in wanted.items()]
    return jax.tree.unflatten(jax.tree.structure(template), leaves), int(epoch)


def _read_safetensors(path: Path) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    if not path.is_file():
        raise UserError(f"{path} is no file: name a checkpoint of the run")
    try:
        with safe_open(path, "numpy") as file:
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            return arrays, file.metadata() or {}
    # safetensors answers a type that NumPy lacks with an AttributeError or a TypeError.
    except (SafetensorError, OSError, AttributeError, TypeError) as error:
        raise UserError(
            f"{path} cannot be read ({error}): it is cut short or no checkpoint; delete it to"
            " continue from the one before"
        ) from None


def _kind(array: Any) -> str:
    return f"{array.dtype}{list(array.shape)}"


def _leaves(tree: Any) -> dict[str, Any]:
    return {jax.tree_util.keystr(path): leaf for path, leaf in jax.tree.leaves_with_path(tree)}


def _is_key(leaf: Any) -> bool:
    return jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _raw(leaf: Any) -> Any:
    """Random keys as the plain integers they are made of."""
    return jax.random.key_data(leaf) if _is_key(leaf) else leaf


def _typed(array: np.ndarray, leaf: Any) -> jax.Array:
    plain = jax.numpy.asarray(array)
    return jax.random.wrap_key_data(plain) if _is_key(leaf) else plain


def write_record(path: Path, record: Any) -> None:
    """Every step of an evaluation as a plain .npz; nested names are joined by dots (gates.r)."""
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


@contextmanager
def _disk_errors(path: Path) -> Iterator[None]:
    """A full or read-only disk is the user's to mend: say so in one line."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise UserError(f"cannot write {path}: {reason}; what was saved before is kept") from None


def require_empty(path: Path, advice: str) -> None:
    """What is new goes into a folder of its own."""
    if path.exists() and not path.is_dir():
        raise UserError(f"{path} is a file: choose another --out")
    if path.exists() and any(path.iterdir()):
        raise UserError(f"{path} is not empty: {advice}")


def require_new(path: Path, flag: str) -> None:
    if path.exists():
        raise UserError(f"{path} exists: choose another {flag}")


def require_same(path: Path, old: dict[str, Any], new: dict[str, Any]) -> None:
    """Only the same work can be resumed."""
    changed = differences(old, new)
    if changed:
        raise UserError(
            f"cannot resume {path} with other settings ({'; '.join(changed)}):"
            " repeat the run's own, or choose another --out"
        )


def repeatable(command: str) -> str:
    """A recorded command but for where its files went, and that it was continued."""
    words = shlex.split(command)
    if "--out" in words:
        at = words.index("--out")
        del words[at : at + 2]
    return shlex.join(word for word in words if word != "--resume")


def provenance() -> dict[str, Any]:
    """Which program this is: for every file that holds results."""
    return {"version": version("reinstate"), "commit": commit(), "jax": jax.__version__}


def commit() -> str | None:
    """The commit of the source tree this runs from, marked if files have changed since.

    Where the source came without its history, REINSTATE_COMMIT can say it.
    """

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
        return os.environ.get("REINSTATE_COMMIT")
    head = git("rev-parse", "HEAD")
    return f"{head}+changes" if git("status", "--porcelain", "-uno") else head
