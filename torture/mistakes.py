"""Make sixty mistakes, one at a time, and see whether the tests notice.

Each is an edit that a person could make, tried in a copy of src: the tests that should fail run on
that copy. `python -m torture.mistakes [--only NAME …] [--record FILE]` says of each mistake which
file of tests caught it, or that it was missed. A mistake whose text is no longer in its file, or is
there twice, is an error: adapt it to the code as it is now.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
LONGEST = 900  # seconds that the tests of one mistake may take


class Mistake(NamedTuple):
    name: str
    file: str  # under src
    right: str
    wrong: str
    tests: str  # files under tests, in the order in which they run


MISTAKES = [
    # Playing.
    Mistake("carried-state-lost", "reinstate/rollout.py",
            "start = state.player if player.outlives_episodes else player.initial_state()",
            "start = player.initial_state()", "test_rollout.py"),
    Mistake("written-before-last-reward", "reinstate/rollout.py",
            "after.player if options.through_storage else jax.lax.stop_gradient(after.player)",
            "now.player if options.through_storage else jax.lax.stop_gradient(now.player)",
            "test_rollout.py"),
    Mistake("gradient-through-storage", "reinstate/rollout.py",
            "after.player if options.through_storage else jax.lax.stop_gradient(after.player)",
            "after.player", "test_rollout.py test_learner.py"),
    Mistake("greedy-actions", "reinstate/rollout.py", "jnp.argmax(decision.logits + gumbel)",
            "jnp.argmax(decision.logits)", "test_rollout.py"),
    Mistake("retrieved-off-by-one", "reinstate/rollout.py", "(found.written - 1) // ",
            "found.written // ", "test_rollout.py"),
    Mistake("paid-after-the-end", "reinstate/rollout.py",
            "reward=jnp.where(over, 0.0, taken.reward)", "reward=taken.reward",
            "test_early_end.py"),
    Mistake("stored-under-the-cue", "reinstate/rollout.py",
            "for row in world.keys_to_store(task, now.task)", "for row in (0,)",
            "test_rollout.py tasks/test_two_step.py tasks/test_contract.py"),
    Mistake("recall-not-withheld", "reinstate/rollout.py", "lambda x: options.recall * x",
            "lambda x: x", "test_rollout.py test_learner.py"),
    # Learning.
    Mistake("discount-twice", "reinstate/learner.py", "r_t + discount * g_tp1",
            "r_t + discount * discount * g_tp1", "test_learner.py"),
    Mistake("entropy-sign", "reinstate/learner.py", "- entropy_cost * entropy",
            "+ entropy_cost * entropy", "test_learner.py"),
    Mistake("advantage-differentiated", "reinstate/learner.py",
            "jax.lax.stop_gradient(advantage)", "advantage", "test_learner.py"),
    Mistake("seed-forgotten", "reinstate/learner.py", "jax.random.key(seed)", "jax.random.key(0)",
            "test_learner.py runs/test_training.py"),
    Mistake("same-epoch-again", "reinstate/learner.py",
            "jax.random.fold_in(state.key, state.epoch)", "state.key",
            "test_learner.py runs/test_training.py"),
    Mistake("annealed-too-far", "reinstate/learner.py",
            "(epoch * self.segments + jnp.arange(self.segments))",
            "(epoch * self.segments + 1 + jnp.arange(self.segments))", "test_learner.py"),
    Mistake("clipped-after-the-step", "reinstate/learner.py",
            "optax.clip_by_global_norm(s.max_grad_norm), make(rate)",
            "make(rate), optax.clip_by_global_norm(s.max_grad_norm)", "test_learner.py"),
    Mistake("unplayed-steps-count", "reinstate/learner.py", "jnp.mean(loss, where=steps.played)",
            "jnp.mean(loss)", "test_early_end.py"),
    Mistake("devices-play-the-same", "reinstate/learner.py", "jax.lax.axis_index(LANES) * size",
            "0 * size", "test_devices.py test_learner.py"),
    Mistake("recalled-on-every-step", "reinstate/agent.py",
            "jnp.where(inputs.first_shown, x, 0.0)", "x", "test_agent.py test_rollout.py"),
    # Deciding again.
    Mistake("unplayed-steps-first", "reinstate/recompute.py", "jnp.argsort(~seen.reshape(-1)",
            "jnp.argsort(seen.reshape(-1)", "rivals/test_recompute.py test_early_end.py"),
    Mistake("decided-a-step-late", "reinstate/recompute.py", "x[:, :, : world.episode_length]",
            "x[:, :, -world.episode_length :]", "rivals/test_recompute.py"),
    Mistake("own-h-for-the-last", "reinstate/through_time.py",
            "jnp.concatenate([start.h[None], taken.h[:-1]])", "taken.h", "test_through_time.py"),
    # Memory.
    Mistake("oldest-evicted-though-read", "reinstate/memory/dnd.py", "jnp.argmin(contents.used)",
            "jnp.argmin(contents.written)", "test_memory.py"),
    Mistake("empty-slots-used", "reinstate/memory/dnd.py",
            "jnp.where(there, now, contents.used[slots])", "now", "test_memory.py"),
    Mistake("softened-outside", "reinstate/memory/dnd.py", "1 / (distances + self.delta)",
            "1 / distances + self.delta", "test_memory.py"),
    Mistake("ties-to-the-oldest", "reinstate/memory/search.py",
            "jnp.argmax(jnp.where(ranks == jnp.min(ranks), written, -1))", "jnp.argmin(ranks)",
            "test_memory.py test_memory_search.py"),
    Mistake("mean-of-two", "reinstate/memory/dnd.py", "old + (new - old) / count",
            "(old + new) / 2", "test_consolidation.py"),
    Mistake("reach-excluded", "reinstate/memory/dnd.py",
            "distances[nearest] <= self.reach", "distances[nearest] < self.reach",
            "test_consolidation.py"),
    Mistake("sharper-when-worse", "reinstate/memory/recognition.py", "a + b * similarity",
            "a - b * similarity", "test_recognition.py"),
    # The cell and the agent.
    Mistake("gates-swapped", "reinstate/cell.py", "i, f, o, c_in, *r = ", "f, i, o, c_in, *r = ",
            "test_cell.py"),
    Mistake("reinstated-by-the-input-gate", "reinstate/cell.py", "c + gates.r * c_ep",
            "c + gates.i * c_ep", "test_cell.py"),
    Mistake("h-stored-for-c", "reinstate/agent.py", "jnp.clip(state.c, ", "jnp.clip(state.h, ",
            "test_agent.py"),
    # Tasks.
    Mistake("urn-off-by-one", "reinstate/processes.py", "chance * (self.alpha + n) < self.alpha",
            "chance * (self.alpha + n + 1) < self.alpha", "test_processes.py"),
    Mistake("met-this-time-too", "reinstate/processes.py",
            "episode[None, :] < episode[:, None]", "episode[None, :] <= episode[:, None]",
            "test_processes.py"),
    Mistake("all-zero-barcode", "reinstate/tasks/barcodes.py",
            "1 + distinct_integers(key, num, 2**length - 1)",
            "distinct_integers(key, num, 2**length)", "tasks/test_barcodes.py"),
    Mistake("starts-on-the-goal", "reinstate/tasks/water_maze.py", "cell + (cell >= task.goal)",
            "cell + (cell > task.goal)", "tasks/test_water_maze.py"),
    Mistake("reversals-not-kept", "reinstate/tasks/two_step.py",
            "first + jnp.cumsum(reversals, dtype=jnp.int32)", "first + reversals",
            "tasks/test_two_step.py"),
    # Evaluation and analysis.
    Mistake("all-seeds-evaluated-alike", "reinstate/evaluation.py",
            "jax.random.fold_in(jax.random.key(settings.seed), seed)",
            "jax.random.key(settings.seed)", "test_evaluation.py"),
    Mistake("population-deviation", "reinstate/analysis/intervals.py",
            "values.std(axis=0, ddof=1) / math.sqrt(n)", "values.std(axis=0) / math.sqrt(n)",
            "analysis/test_intervals.py"),
    Mistake("one-sided-quantile", "reinstate/analysis/intervals.py",
            "stats.t.ppf((1 + CONFIDENCE) / 2, n - 1)", "stats.t.ppf(CONFIDENCE, n - 1)",
            "analysis/test_intervals.py"),
    Mistake("bonferroni-for-holm", "reinstate/analysis/verdicts.py", "(len(p) - rank) * p[place]",
            "len(p) * p[place]", "analysis/test_verdicts.py"),
    Mistake("binomial-off-by-one", "reinstate/analysis/verdicts.py",
            "stats.binom.sf(k - 1, n, end)", "stats.binom.sf(k, n, end)",
            "analysis/test_verdicts.py"),
    Mistake("regret-over-episodes", "reinstate/analysis/exposures.py", "regret.cumsum(axis=-1)",
            "regret.cumsum(axis=-2)", "analysis/test_exposures.py"),
    Mistake("moves-off-by-one", "reinstate/analysis/mazes.py", "reached.argmax(axis=-1) + 1",
            "reached.argmax(axis=-1)", "analysis/test_mazes.py"),
    Mistake("advice-reversed", "reinstate/analysis/gates.py",
            "np.where(reward > 0, state, 1 - state)", "np.where(reward > 0, 1 - state, state)",
            "analysis/test_gates.py"),
    # Runs and files.
    Mistake("resumed-with-weights-alone", "reinstate/runs/loop.py", "return state, epoch, rows",
            "return init()._replace(params=state.params), epoch, rows",
            "runs/test_resume.py runs/test_training.py"),
    Mistake("stopped-without-saving", "reinstate/runs/loop.py",
            "if stopping or epoch == self.epochs or ", "if epoch == self.epochs or ",
            "runs/test_loop.py runs/test_training.py runs/test_resume.py"),
    Mistake("newest-pruned", "reinstate/runs/run.py", "[-keep:]", "[:keep]",
            "runs/test_run.py runs/test_training.py"),
    Mistake("checksum-unread", "reinstate/runs/checkpoints.py",
            'about.get("sha256") != checksum_of(arrays)', 'not about.get("sha256")',
            "runs/test_run.py runs/test_training.py"),
    Mistake("broken-state-kept", "reinstate/runs/loop.py",
            "save_checkpoint(before, epoch - 1, ", "save_checkpoint(new, epoch, ",
            "runs/test_training.py"),
    Mistake("curve-begins-early", "reinstate/runs/reproduce.py",
            'metrics[group[-1]]["epoch"] * ', 'metrics[group[0]]["epoch"] * ',
            "runs/test_reproduce.py"),
    Mistake("written-in-place", "reinstate/files.py", "new.replace(path)",
            "path.write_bytes(content)", "test_files.py test_faults.py"),
    Mistake("another-thread-let-in", "reinstate/files.py",
            "if _held.get(key) == threading.get_ident():", "if key in _held:", "test_files.py"),
    # Baselines, choices and claims.
    Mistake("counts-of-another-context", "reinstate/baselines/algorithms.py",
            "first & self.carries & jnp.all(origin == inputs.context)", "first & self.carries",
            "baselines/test_algorithms.py"),
    Mistake("reach-off-by-one", "reinstate/baselines/water_maze.py",
            "(distance > 0) & (distance <= t)", "(distance > 0) & (distance < t)",
            "baselines/test_water_maze.py"),
    Mistake("linked-evidence-twice", "reinstate/baselines/pooling.py",
            "np.where(a == b, 0, evidence[lanes, b])", "evidence[lanes, b]",
            "baselines/test_pooling.py"),
    Mistake("gaps-are-neighbours", "reinstate/choices/model.py", "(np.diff(c.episode) == 1)",
            "(np.diff(c.episode) >= 1)", "choices/test_model.py"),
    Mistake("variance-without-misses", "reinstate/choices/likelihood.py",
            "(total * p * (1 - p))", "(total * p)", "choices/test_model.py"),
    Mistake("lead-reversed", "reinstate_paper/claims.py", "reward - theirs[seed]",
            "theirs[seed] - reward", "experiments/test_claims.py"),
    Mistake("fall-taken-for-the-rest", "reinstate_paper/claims.py",
            "1 - ratio(after, before, 1.0)", "ratio(after, before, 1.0)",
            "experiments/test_claims.py"),
    Mistake("widely-by-a-tenth", "reinstate_paper/margins.py", "WIDELY = Margin(HALF, ",
            "WIDELY = Margin(A_TENTH, ", "experiments/test_claims.py"),
]  # fmt: skip


def outcome_of(mistake: Mistake) -> str:
    """Make a mistake in a copy of src and run its tests; return `caught by …`, or what else."""
    text = (ROOT / "src" / mistake.file).read_text()
    if (times := text.count(mistake.right)) != 1:
        return f"error: its text is {times} times in {mistake.file}"
    with tempfile.TemporaryDirectory(prefix="reinstate-mistake-") as folder:
        src = shutil.copytree(ROOT / "src", Path(folder) / "src")
        (src / mistake.file).write_text(text.replace(mistake.right, mistake.wrong))
        files = [f"tests/{name}" for name in mistake.tests.split()]
        # No summary of the code around a failure: it is the name of the failed test that counts.
        options = ["-x", "-q", "-p", "no:cacheprovider", "--tb=line"]
        try:
            done = subprocess.run(
                [sys.executable, "-m", "pytest", *options, *files],
                cwd=ROOT,
                env=os.environ | {"PYTHONPATH": str(src)},
                capture_output=True,
                text=True,
                timeout=LONGEST,
            )
        except subprocess.TimeoutExpired:
            return f"error: its tests take more than {LONGEST} s"
    if done.returncode == 0:
        return "missed"
    failed = re.search(r"^(?:FAILED|ERROR) tests/(\S+)", done.stdout, re.MULTILINE)
    if done.returncode != 1 or not failed:
        return f"error: {(done.stdout + done.stderr).strip().splitlines()[-1]}"
    return f"caught by {failed[1]}"


def main() -> int:
    """Make mistakes; return 1 unless all are caught."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these mistakes alone")
    parser.add_argument("--record", type=Path, help="a file for the outcomes, one per line")
    asked = parser.parse_args()
    known = {each.name: each for each in MISTAKES}
    if unknown := {*(asked.only or ())} - known.keys():
        parser.error(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(known)}")
    lines = []
    for name in asked.only or known:
        lines.append(f"{name}: {outcome_of(known[name])}")
        print(lines[-1], flush=True)
    caught = sum(": caught" in line for line in lines)
    lines.append(f"{caught} of {len(lines)} mistakes caught")
    print(lines[-1])
    if asked.record:
        asked.record.write_text("\n".join(lines) + "\n")
    return int(caught < len(lines) - 1)


if __name__ == "__main__":
    sys.exit(main())
