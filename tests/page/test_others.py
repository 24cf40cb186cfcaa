"""Memory as an input and the embedder on the page, whoever's files they are."""

import copy
from pathlib import Path
from typing import Any

import pytest

from page.reading import Element, read
from page.recorded import EVIL, RESULTS, places, short
from page.test_hostile_text import ALL, parts
from reinstate.errors import UserError
from reinstate.figures.page import load, page_of
from reinstate.files import read_json, write_json
from reinstate.runs.experiment import EXPERIMENTS
from reinstate_paper.embedder_page import accuracy_chart, load_embedder_card
from reinstate_paper.inputs_page import WHOLE, charts_of_inputs, gains, load_inputs

INPUTS = read_json(RESULTS / "inputs.json")
CARDS = [RESULTS / f"omniglot-embedder/{name}.json" for name in ("paper", "plain")]
CARD = read_json(CARDS[0])


def page_with(folder: Path, document: Any) -> str:
    write_json(folder / "any-name.json", document)
    return page_of(load([folder / "any-name.json"]))


@pytest.fixture(scope="module")
def page() -> Element:
    """The page of a folder of folders."""
    return read(page_of(load([RESULTS])))


def test_a_folder_of_folders_is_all_that_is_in_it(page: Element) -> None:
    sections = [each.attributes["id"] for each in page.all("section")]
    assert sections == ["overview", "claims", *EXPERIMENTS, "inputs", "embedder", "play"]
    links = [a.attributes["href"] for a in page.one("nav").all("a")]
    assert links == [f"#{name}" for name in sections]


def test_a_section_shows_what_a_memory_is_worth_as_an_input(page: Element) -> None:
    section = page.one("section", id="inputs")
    _, quick = section.all("figure")
    row = INPUTS["experiments"]["water-maze"]["quick"]
    earned = row["agents"]["epl2rl-input-8"]["reward"]["mean"] - row["chance"]
    share = earned / (row["epl2rl"]["reward"]["mean"] - row["chance"])
    names = [th.text for th in quick.one("thead").all("th")]
    (eight,) = [cells for cells in quick.one("table").rows() if cells[0] == "8"]
    assert eight[names.index("contextual water maze")] == f"{share:.3f}"
    folded = section.one("table", class_="scores")
    (maze,) = [
        r for r in folded.rows() if r[0] == "Experiment 4: contextual water maze, quick preset"
    ]
    assert maze[1] == f"{row['chance']:.2f}" and maze[-1].startswith("7.05 [")
    verdicts = [check["verdict"] for check in INPUTS["checks"]]
    assert f"Of 44 kinds of run here, {verdicts.count('supported')} do as well" in section.text


def test_the_whole_state_has_as_many_units_as_every_preset() -> None:
    presets = [preset for each in EXPERIMENTS.values() for preset in each.presets.values()]
    assert {preset.network.hidden_size for preset in presets} == {WHOLE}


def test_gains_are_shares_of_what_the_gate_earns_above_chance() -> None:
    assert gains([2.0, None, 5.0], best=6.0, chance=2.0) == [0.0, None, 0.75]
    assert gains([2.0], best=2.0, chance=2.0) == []
    assert gains([1e99], best=1e-300, chance=0.0) == [None]


def test_a_section_shows_what_embedders_recognise(page: Element) -> None:
    section = page.one("section", id="embedder")
    names = [th.text for th in section.one("figure").one("thead").all("th")]
    assert names[1:] == [
        "paper preset",
        "plain preset, with Kaiser’s settings",
        "Kaiser et al. 2017, as published",
    ]
    first, *_, last = section.one("table", class_="numbers").rows()
    test = CARD["few_shot"][0]
    low = test["accuracy"] - 1.96 * test["standard_error"]
    assert first[:2] == ["5-way 1-shot", f"0.991 [{low:.3f}, 0.992]"] and first[3] == "0.984"
    assert last[0] == "Lake’s 20 one-shot runs" and last[3] == ""
    assert "By their pixels alone, 29% would be recognised" in section.text


def test_what_pretrain_leaves_is_a_card_and_no_run(tmp_path: Path) -> None:
    write_json(tmp_path / "config.json", {"seed": 0})
    write_json(tmp_path / "card.json", {k: v for k, v in CARD.items() if k != "command"})
    section = read(page_of(load([tmp_path]))).one("section", id="embedder")
    assert [h4.text for h4 in section.all("h4")] == [f"({tmp_path.name})"]


def test_text_of_these_files_stays_text(tmp_path: Path) -> None:
    def hostile(text: str) -> list[Any]:
        inputs, card = copy.deepcopy(INPUTS), copy.deepcopy(CARD)
        inputs |= dict.fromkeys(("command", "version", "commit", "jax"), text)
        inputs["experiments"] = {"two-step": {text: INPUTS["experiments"]["two-step"]["quick"]}}
        card |= dict.fromkeys(("version", "commit", "jax", "device"), text)
        card["settings"] = {text: {text: text}}
        card["command"] = f"--preset {text}"
        card["few_shot"][0]["rule"] = text
        return [inputs, card]

    for safe, found in zip(hostile("plain"), hostile(ALL), strict=True):
        plain, page = (read(page_with(tmp_path, each)) for each in (safe, found))
        assert parts(page) <= parts(plain) and ALL in page.text
        assert [e.text for e in page.all("script")] == [e.text for e in plain.all("script")]


ODD: tuple[Any, ...] = (
    None,
    True,
    -1,
    1e308,
    float("nan"),
    10**15,
    EVIL,
    [],
    [[1.0]],
    {},
    {"a": EVIL},
)


def test_whatever_is_wrong_in_them_is_a_page_or_one_line(tmp_path: Path) -> None:
    few = {"two-step": {"quick": INPUTS["experiments"]["two-step"]["quick"]}}
    inputs = short({**INPUTS, "experiments": few, "checks": INPUTS["checks"][:1]})
    ended = {"page": 0, "refused": 0}
    for document in (inputs, short(CARD)):
        for number, path in enumerate(p for p in places(document) if p and p[0] != "settings"):
            broken = here = copy.deepcopy(document)
            for name in path[:-1]:
                here = here[name]
            here[path[-1]] = ODD[number % len(ODD)]
            try:
                written = page_with(tmp_path, broken)
                assert EVIL not in written and read(written)
                ended["page"] += 1
            except UserError as error:
                assert "\n" not in str(error)
                ended["refused"] += 1
    assert min(ended.values()) > 20


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"few_shot": [{}]},
            "an embedder (few_shot[0]: Object missing required field way): name a",
        ),
        ({"few_shot": 3}, "does not describe an embedder (few_shot: Expected array, got int)"),
    ],
)
def test_a_damaged_card_is_refused_in_one_line(tmp_path: Path, change: Any, said: str) -> None:
    with pytest.raises(UserError) as refused:
        page_with(tmp_path, CARD | change)
    assert said in str(refused.value)


def test_damaged_inputs_are_refused_in_one_line(tmp_path: Path) -> None:
    rows = INPUTS["experiments"]
    for experiments, said in (
        ({"water-maze": {"quick": {}}}, "does not hold agents whose memory is an input"),
        (
            {"water-maze": {"quick": rows["water-maze"]["quick"] | {"chance": "x"}}},
            "chance: Expected",
        ),
    ):
        with pytest.raises(UserError, match=said):
            page_with(tmp_path, INPUTS | {"experiments": experiments})


def test_a_folder_of_folders_follows_no_link_and_reads_no_stranger(tmp_path: Path) -> None:
    named = tmp_path / "named"
    for name in ("cards", "others"):
        (named / name).mkdir(parents=True)
    write_json(named / "cards/mine.json", CARD)
    write_json(named / "others/list.json", [{"few_shot": 1}])
    (named / "others/large.json").write_text(" " * 1_000_001)  # no JSON, but nobody looks
    (named / "linked").symlink_to(RESULTS / "water-maze")
    (named / "inputs.json").symlink_to(RESULTS / "inputs.json")
    assert load([named]) == [load_embedder_card(named / "cards/mine.json")]
    (named / "cards/mine.json").unlink()
    with pytest.raises(UserError, match="holds neither results"):
        load([named])


def test_charts_have_a_line_for_each_experiment_and_a_point_for_each_test() -> None:
    for chart in charts_of_inputs(load_inputs(RESULTS / "inputs.json")):
        assert [s.name for s in chart.series][:2] == ["barcode bandits", "Omniglot bandits"]
        assert chart.log_x and all(s.x[-1] == WHOLE for s in chart.series)
    accuracy = accuracy_chart([load_embedder_card(path) for path in CARDS])
    assert accuracy is not None and len(accuracy.categories) == 7
    ours, plain, published = accuracy.series
    assert len(ours.y) == len(plain.y) == 7 and len(published.y) == 6
