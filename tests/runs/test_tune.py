"""The search trains what `train` would, keeps what it finished, and ranks the preset honestly."""

import functools
import json
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from reinstate.devices import over_seeds
from reinstate.errors import Stopped, UserError
from reinstate.files import read_json
from reinstate.learner import EpochMetrics, Rates, TrainState
from reinstate.runs import candidates as batch
from reinstate.runs.candidates import (
    Candidate,
    CandidateBatch,
    Ranges,
    preset_candidate,
    rates_of,
)
from reinstate.runs.progress import Bar
from reinstate.runs.search import Asked, Search, Trial, agents_of, best_for, ranked, search
from reinstate.settings import Settings
from reinstate_paper.barcode_bandits import BARCODE_BANDITS
from spoken import Command, assert_refused
from stubbed import Program
from tiny import OPTIONS, SILENT, TINY, contents, interrupt

# Two settings × two seeds of this agent everywhere: compiled once, kept on disk for all tests.
AGENT = "l2rl"
TWO = Search(trials=2)
HERE = Asked(BARCODE_BANDITS, "quick", [AGENT], TINY, TWO)
OTHER = Candidate(learning_rate=0.2, entropy_cost=0.3, discount=0.2, value_cost=2.0)


def go(out: Path, asked: Search = TWO, settings: Settings = TINY, *others: str) -> Any:
    what = HERE._replace(agents=[AGENT, *others], settings=settings, search=asked)
    return search(what, out, SILENT, command="x")


@pytest.fixture(scope="module", autouse=True)
def compiled_once() -> Iterator[None]:
    """Tracing, too, costs more than training: searches with equal settings share their programs."""
    programs: dict[Any, Any] = {}
    compile_once = CandidateBatch.compile

    def compiled(self: CandidateBatch, rates: Rates, state: TrainState) -> Any:
        what = self.agent, self.settings, self.num_candidates
        if what not in programs:
            programs[what] = compile_once(self, rates, state)
        return programs[what]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CandidateBatch, "compile", compiled)
        patch.setattr(batch, "over_seeds", functools.cache(over_seeds))
        yield


@pytest.fixture
def quick_play(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is trained or drawn: a setting earns what its numbers and the seed say."""

    def epoch(rates: Rates, seeds: Any) -> Any:
        reward = jnp.array(rates.discount - rates.learning_rate + seeds)
        return seeds, EpochMetrics(reward, reward, reward, reward, jnp.isfinite(reward))

    def start(self: CandidateBatch, rates: list[Rates]) -> Any:
        seeds = np.tile(self.settings.seed_range, self.num_candidates)
        return Rates(*np.repeat(np.array(rates).T, self.settings.seeds, axis=1)), seeds

    monkeypatch.setattr(CandidateBatch, "start", start)
    monkeypatch.setattr(CandidateBatch, "compile", lambda *start: epoch)
    monkeypatch.setattr("reinstate.figures.mpl.save", lambda *figure: None)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """A finished search of two rounds."""
    out = tmp_path_factory.mktemp("search") / "out"
    return out, go(out, replace(TWO, rounds=2))


def test_a_batch_is_each_candidate_alone() -> None:
    """All metrics of all epochs, of the preset's neighbour: only its own rates may touch it."""
    falling = replace(TINY.learner, learning_rate_end=0.005)
    program = CandidateBatch(AGENT, TINY, 2)
    rates = [rates_of(setting, falling) for setting in (preset_candidate(falling), OTHER)]
    each, state = program.start(rates)
    alone = replace(TINY, learner=replace(TINY.learner, **rates[1]._asdict()))
    assert alone.learner.learning_rate_end == pytest.approx(0.1)  # half, as the preset's
    learner = alone.make_learner(AGENT)
    own = over_seeds(learner.init, 2)(jnp.array(alone.seed_range))
    together, apart = program.compile(each, state), over_seeds(learner.train_epoch, 2)
    for _ in range(TINY.learner.epochs):
        (state, metrics), (own, expected) = together(each, state), apart(own)
        for ours, theirs in zip(metrics, expected, strict=True):
            np.testing.assert_allclose(ours[2:], theirs, rtol=1e-3, atol=1e-5)
    weights, expected = jax.tree.leaves(state.params), jax.tree.leaves(own.params)
    for ours, theirs in zip(weights, expected, strict=True):
        np.testing.assert_allclose(ours[2:], theirs, rtol=1e-2, atol=1e-3)
        assert np.abs(ours[2:] - ours[:2]).max() > 0.01  # the two settings do differ


def test_a_second_round_compiles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def over_seeds(function: Any, num_seeds: int, **how: Any) -> Program:
        made.append(function.__name__)
        return Program(function, num_seeds)

    monkeypatch.setattr(batch, "over_seeds", over_seeds)
    candidates = CandidateBatch("epl2rl", TINY, 2)
    rates = [rates_of(preset_candidate(TINY.learner), TINY.learner)] * 2
    for number in (1, 2):
        candidates.train(rates, SILENT, f"round {number}", [])
    assert sorted(made) == ["init", "train_epoch"]


def test_the_preset_is_trial_0(found: tuple[Path, Any]) -> None:
    out, document = found
    assert read_json(out / "search.json") == document
    assert {path.name for path in out.iterdir()} == {"search.json", "search.png", "search.svg"}
    trials = document["trials"]
    assert [trial["number"] for trial in trials] == [0, 1, 2, 3]
    assert [trial["round"] for trial in trials] == [0, 0, 1, 1]
    assert trials[0]["setting"] == preset_candidate(TINY.learner)._asdict()
    settings = {tuple(trial["setting"].values()) for trial in trials}
    assert len(settings) == 4
    rewards = [trial["agents"][AGENT]["reward"] for trial in trials]
    for trial in trials:
        score = trial["agents"][AGENT]
        assert score["reward"] == pytest.approx(np.mean(score["per_seed"]))
        assert len(score["per_seed"]) == TINY.seeds
    best = best_for(trials, AGENT)
    assert best and best["agents"][AGENT]["reward"] == max(rewards)


def test_the_score_is_of_the_last_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 20 epochs the last two count; a seed that was ever not finite has no score."""
    settings = replace(TINY, learner=replace(TINY.learner, epochs=20))
    program = CandidateBatch(AGENT, settings, 2)
    epochs = iter(range(1, 21))

    def epoch(rates: Any, state: Any) -> Any:
        n = next(epochs)
        reward = jnp.array([n, 2.0 * n, -n, n])
        metrics = jnp.zeros(4)
        finite = jnp.array([True, True, True, n != 5])
        return state, EpochMetrics(reward, metrics, metrics, metrics, finite)

    monkeypatch.setattr(program, "start", lambda rates: (None, None))
    monkeypatch.setattr(program, "compile", lambda *start: epoch)
    scores = program.train([], SILENT, "", [])
    np.testing.assert_allclose(scores.reward, [[19.5, 39.0], [-19.5, np.nan]])


def test_rounds_and_agents_are_added(tmp_path: Path, quick_play: None) -> None:
    both = go(tmp_path / "both", replace(TWO, rounds=2))
    first = go(tmp_path / "x")
    assert first["trials"] == both["trials"][:2]
    second = go(tmp_path / "x", replace(TWO, rounds=2))
    assert second["trials"] == both["trials"]
    files = contents(tmp_path)
    assert go(tmp_path / "x") == second and contents(tmp_path) == files  # nothing left to do
    third = go(tmp_path / "x", TWO, TINY, "l2rl-context")
    assert agents_of(third["trials"]) == [AGENT, "l2rl-context"]
    assert [list(trial["agents"]) for trial in third["trials"]] == [
        [AGENT, "l2rl-context"], [AGENT, "l2rl-context"], [AGENT], [AGENT],
    ]  # fmt: skip


def test_a_signal_keeps_finished_rounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quick_play: None
) -> None:
    asked = replace(TWO, rounds=2)
    both = go(tmp_path / "both", asked)["trials"]
    seen: list[int] = []
    report = Bar.update

    def update(self: Bar, *news: Any) -> None:
        report(self, *news)
        seen.append(news[0])
        if len(seen) in (6, 10):
            interrupt(signal.SIGINT)

    monkeypatch.setattr(Bar, "update", update)
    with pytest.raises(Stopped, match=r"after epoch 2 of 4: .* the same command continues"):
        go(tmp_path / "x", asked)
    assert read_json(tmp_path / "x/search.json")["trials"] == both[:2]
    with pytest.raises(Stopped, match=r"after round 2 of l2rl"):  # it came in the last epoch
        go(tmp_path / "x", asked)
    assert go(tmp_path / "x", asked)["trials"] == both
    assert seen == [1, 2, 3, 4, 1, 2, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("asked", "settings", "message"),
    [
        (replace(TWO, seed=1), TINY, "draw_seed: 0 → 1"),
        (replace(TWO, ranges=Ranges(discount=(0.5,))), TINY, r"ranges.discount: \[0.7"),
        (TWO, replace(TINY, first_seed=5), "settings.first_seed: 0 → 5"),
    ],
)
def test_another_search_is_refused(
    found: tuple[Path, Any], asked: Search, settings: Settings, message: str
) -> None:
    before = contents(found[0])
    with pytest.raises(UserError, match=f"cannot resume .*{message}.*choose another --out"):
        go(found[0], asked, settings)
    assert contents(found[0]) == before


def test_folders_of_other_things_are_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(UserError, match="holds no search; choose another --out"):
        go(tmp_path)
    (tmp_path / "search.json").write_text('{"trials": []}')
    with pytest.raises(UserError, match=r"hold a search of this program .*choose another --out"):
        go(tmp_path)


def test_settings_that_are_not_finite_have_failed(tmp_path: Path) -> None:
    document = go(tmp_path / "x", replace(TWO, ranges=Ranges(learning_rate=(3e38, 3e38))))
    fine, failed = (trial["agents"][AGENT] for trial in document["trials"])
    assert failed["reward"] is None and None in failed["per_seed"]
    assert best_for(document["trials"], AGENT) == document["trials"][0] and fine["reward"]
    assert "NaN" not in (tmp_path / "x/search.json").read_text()
    assert ">failed<" in (tmp_path / "x/search.svg").read_text()


def test_failed_ones_rank_last() -> None:
    rewards = [-1.0, None, 2.0, None, 2.0]
    trials: list[Trial] = [
        {"number": i, "round": 0, "setting": {}, "agents": {"a": {"reward": r, "per_seed": [r]}}}
        for i, r in enumerate(rewards)
    ]
    assert [trial["number"] for trial in ranked(trials, "a")] == [2, 4, 0, 1, 3]


def test_draws_stay_in_their_ranges() -> None:
    ranges = Ranges((1e-4, 1e-2), (0.5, 0.5), (0.3,), (0.0, 2.0))
    drawn = Search(trials=400, ranges=ranges).draw(1, OTHER)
    rates = np.log10([setting.learning_rate for setting in drawn])
    assert -4 <= rates.min() < -3.9 and -2.1 < rates.max() <= -2
    assert abs(rates.mean() + 3) < 0.1  # uniform in the logarithm
    assert {setting.entropy_cost for setting in drawn} == {0.5}
    assert {setting.discount for setting in drawn} == {0.3}
    assert {setting.value_cost for setting in drawn} == {0.0, 2.0}


LINE = f"tune barcode-bandits {OPTIONS}"


def test_the_command(command: Command, found: tuple[Path, Any]) -> None:
    out, document = found
    said = command(f"{LINE} --trials 2 --rounds 2 --out {out}")
    order = [trial["number"] for trial in ranked(document["trials"], AGENT)]
    assert said.code == 0
    words = " ".join(said.out.split())  # lines are wrapped
    assert f"{order.index(0) + 1} (preset)" in words and f"--rates {out}/search.json" in words
    said = command(f"{LINE} --trials 2 --rounds 2 --out {out} --json")
    assert json.loads(said.out) == document


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--agents", "--agents needs at least one name"),
        ("--ranges.learning-rate 0 1", "learning_rate must be two positive numbers"),
        ("--ranges.discount 0.9 1.1", "ranges.discount must be between 0 and 1"),
        ("--ranges.value-cost -1", "ranges.value_cost must be between 0 and"),
    ],
)
def test_mistakes(command: Command, tmp_path: Path, line: str, message: str) -> None:
    assert_refused(command(f"{LINE} --out x {line}"), message)
    assert not (tmp_path / "x").exists()
