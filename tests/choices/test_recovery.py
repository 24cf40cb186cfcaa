"""Recovery at a design of one's own."""

import numpy as np
import pytest

from reinstate.choices.agents import agents_like, recovery
from reinstate.choices.fits import fit_choices
from reinstate.choices.model import NAMES, Choices, Design, design_of, join_choices, simulate


@pytest.mark.parametrize(("cued", "first"), [(0.0, 20), (0.25, 15), (0.5, 10), (0.9, 2), (1.0, 1)])
def test_a_share_of_episodes_is_cued(cued: float, first: int) -> None:
    played = simulate({"EMB": 1}, sessions=2, episodes=20, cued=cued)
    assert played.cued.tolist() == [e >= first for e in range(20)] * 2
    assert (played.cue_episode[played.cued] < first).all()


def test_the_design_of_choices() -> None:
    played = simulate({}, sessions=3, episodes=40, p_common=0.7, cued=0.25)
    common = float(np.mean(played.action == played.state))
    assert design_of(played) == Design(1, 3, 40, common, 0.25)
    assert abs(common - 0.7) < 0.1
    few = Choices._make(column[:79] for column in played)  # sessions of 40 and 39
    assert design_of(few)[:3] == (1, 2, 40)


def test_recovery_at_a_design() -> None:
    design = Design(participants=5, sessions=2, episodes=60, p_common=0.7, cued=0.0)
    found = recovery(**design._asdict())
    assert found["design"] == design._asdict()
    assert {row["part"] for row in found["rows"]} == {"uncued"} and found["intervals"] == 20
    assert {row["participant"] for row in found["rows"]} == set("01234")
    weights = {row["strategy"]: row for row in found["weights"]}
    imb = [row for row in found["rows"] if row["strategy"] == "IMB"]
    error = np.array([row["estimate"] - row["true"] for row in imb])
    assert weights["IMB"]["bias"] == pytest.approx(error.mean())
    assert weights["IMB"]["rmse"] == pytest.approx(np.sqrt(np.mean(error**2)))
    held = np.mean([row["low"] <= row["true"] <= row["high"] for row in imb])
    assert weights["IMB"]["coverage"] == held
    assert found["coverage"] == pytest.approx(np.mean([w["coverage"] for w in weights.values()]))
    assert weights["IMB"]["correlation"] is not None and weights["IMB"]["correlation"] > 0.5
    assert recovery([{"IMB": 1.0}] * 2, sessions=2)["weights"][1]["correlation"] is None


def test_agents_like_those_who_were_fitted() -> None:
    """Their weights have the mean and the spread of people's weights, not of the estimates."""
    rng = np.random.default_rng(3)
    people = [{"IMB": w, "EMB": 1.0} for w in 0.4 + 0.3 * rng.standard_normal(60)]
    played = [simulate(own, sessions=4, episodes=60, seed=n) for n, own in enumerate(people)]
    fit = fit_choices(join_choices(played))
    agents = agents_like(fit, 400, seed=1)
    assert agents[0].keys() == {*NAMES["cued"]} and len(agents) == 400
    imb, emb = (np.array([own[name] for own in agents]) for name in ("IMB", "EMB"))
    assert imb.mean() == pytest.approx(0.4, abs=0.1) and emb.mean() == pytest.approx(1, abs=0.1)
    assert 0.2 < imb.std() < 0.4 and emb.std() < 0.15
    assert np.std(fit["group"]["cued"]["EMB"]["per_participant"]) > 0.25
    learned = fit_choices(join_choices(played[:3]), "learned")
    found = recovery(participants=3, sessions=2, episodes=60, model="learned", like=learned)
    true = {(r["participant"], r["strategy"]): r["true"] for r in found["rows"]}
    assert true["1", "IMB"] == agents_like(learned, 3)[1]["IMB"]
    rates = {rate for (_, name), rate in true.items() if name == "alpha"}
    assert rates == {learned["group"]["uncued"]["alpha"]["mean"]}
