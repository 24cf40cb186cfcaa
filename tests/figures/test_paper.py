"""The paper's figures: what is in them, and that it can be printed as it is."""

from functools import cache
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from reinstate.cli.figure import composed_figures
from reinstate.errors import UserError
from reinstate.figures.mpl import require_own, save_figure
from reinstate.runs.conclusions import read_results
from reinstate_paper.composing import WIDTHS
from reinstate_paper.figures import figure_4, memory_as_input
from spoken import Command, assert_refused

RESULTS = Path(__file__).parents[2] / "results"
FIGURES = {int(name): each for name, each in composed_figures().items()}
EVERY = pytest.mark.parametrize(
    ("number", "width"), [(number, width) for number in FIGURES for width in WIDTHS]
)


@cache
def documents(number: int) -> dict[str, Any]:
    names = FIGURES[number].experiments
    return {name: read_results(RESULTS / name) for name in names}


@cache
def composed(number: int, width: str) -> Any:
    figure = FIGURES[number].draw(documents(number), width)
    figure.draw_without_rendering()  # labels of ticks are made then
    return figure


def texts_of(figure: Any) -> list[Any]:
    """All text that is drawn."""
    from matplotlib.text import Text

    return [t for t in figure.findobj(Text) if t.get_text() and t.get_visible()]


@EVERY
def test_sizes_letters_and_fonts(number: int, width: str) -> None:
    figure = composed(number, width)
    assert figure.get_size_inches()[0] == {"column": 3.25, "page": 6.75}[width]
    assert figure.get_size_inches()[1] < 9  # a page has no more
    bold = [t.get_text() for t in texts_of(figure) if t.get_fontweight() == "bold"]
    assert bold == list("abcd")[: 2 if number == 4 else 4]
    sizes = {t.get_fontsize() for t in texts_of(figure)}
    assert min(sizes) >= 6 and max(sizes) <= 8


@EVERY
def test_nothing_is_cut_off(number: int, width: str) -> None:
    figure = composed(number, width)
    paper = figure.bbox
    for text in texts_of(figure):
        box = text.get_window_extent()
        inside = box.x0 >= 0 and box.y0 >= 0 and box.x1 <= paper.x1 and box.y1 <= paper.y1
        assert inside, text.get_text()


@EVERY
def test_no_name_or_label_covers_another(number: int, width: str) -> None:
    from matplotlib.text import Text

    figure = composed(number, width)
    for axes in figure.axes:  # without the lines that tie names to their lines
        boxes = [(t.get_text(), Text.get_window_extent(t)) for t in axes.texts]
        for (one, a), (other, b) in combinations(boxes, 2):
            assert not a.padded(-1).overlaps(b.padded(-1)), f"{one} and {other}"


def written(number: int) -> list[str]:
    return [text.get_text() for text in texts_of(composed(number, "page"))]


def test_what_the_bandits_show() -> None:
    figure = composed(3, "page")
    barcode, omniglot, memory, plain = figure.axes
    assert [axes.get_xscale() for axes in figure.axes] == ["log", "log", "linear", "linear"]
    assert barcode.get_ylim() == omniglot.get_ylim() and memory.get_ylim() == plain.get_ylim()
    names = [t.get_text() for t in memory.texts]
    assert {"exposure 1", "exposure 2", "exposure 10", "UCB", "Gittins"} <= {*names}
    assert not any("input" in text for text in written(3))  # the paper omits it


def test_ceilings_and_the_start_of_recall_are_named() -> None:
    assert {"upper bound, 8.93", "best without, 8.38", "recall on"} <= {*written(4)}
    assert {"best with memory (a bound), 8.75", "best without, 4.44", "chance, 1.80"} <= {
        *written(3)
    }


def test_captions_are_written_beside_figures(command: Command) -> None:
    line = f"figure 4 --results {RESULTS} --out four.pdf"
    for _ in range(2):  # its own are replaced
        assert command(line).code == 0
    text = Path("four.txt").read_text()
    assert text.startswith("Figure 4. Compositional bandits.") and "20 classes" in text
    Path("four.txt").write_text("mine")
    assert_refused(command(line), "four.txt exists and is not of reinstate figure")
    assert Path("four.txt").read_text() == "mine"


def test_the_maze_at_first_and_second_exposure() -> None:
    for width, mazes in (("column", 3), ("page", 6)):
        ways = composed(5, width).axes[2:]
        assert len(ways) == 2 * mazes
        starts = [axes.lines[-1].get_xydata().tolist() for axes in ways]
        assert starts[:mazes] == starts[mazes:]  # the same contexts below each other
    said = [axes.get_xlabel() for axes in composed(5, "page").axes[2:]]
    pairs = documents(5)["water-maze"]["agents"]["epl2rl"]["maze"]["trajectories"]
    assert said == [f"{len(p[e]) - 1} steps" for e in ("first", "second") for p in pairs]


def test_gates_of_every_seed_are_slopes() -> None:
    *_, slopes = composed(6, "page").axes
    seeds = len(documents(6)["two-step"]["agents"]["epl2rl"]["seeds"])
    thin = [line for line in slopes.lines if line.get_alpha() == 0.4]
    assert len(thin) == 3 * seeds and all(len(line.get_xdata()) == 2 for line in thin)


@pytest.mark.parametrize("kind", ["pdf", "png"])
def test_the_same_results_give_the_same_bytes(tmp_path: Path, kind: str) -> None:
    contents = set()
    for name in ("one", "two"):
        figure = figure_4(documents(4))
        path = tmp_path / f"{name}.{kind}"
        assert save_figure(figure, path, 300, "a maker") == len(path.read_bytes())
        contents.add(path.read_bytes())
        require_own(path, "a maker")
    (content,) = contents
    if kind == "pdf":  # Type 42: whole fonts, which editors can change, and not Type 3
        assert b"/FontFile2" in content and b"/Type3" not in content
        assert b"/MediaBox [ 0 0 234 " in content  # 3.25 inches of 72 points
    if kind == "png":
        from matplotlib.image import imread

        assert imread(tmp_path / "one.png").shape[1] == 975  # 3.25 × 300


def test_only_what_the_same_maker_wrote_is_replaced(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs.svg"
    theirs.write_text("<svg/>")
    with pytest.raises(UserError, match=r"theirs.svg exists and is not of a maker: choose another"):
        require_own(theirs, "a maker")
    with pytest.raises(UserError, match="exists"):
        require_own(tmp_path, "a maker")
    require_own(tmp_path / "new.svg", "a maker")


def without(document: dict[str, Any], agent: str, part: str) -> Any:
    agents = {**document["agents"]}
    agents[agent] = {n: p for n, p in agents[agent].items() if n != part}
    return {**document, "agents": agents}


@pytest.mark.parametrize(
    ("number", "agent", "part", "missing"),
    [
        (3, "l2rl", "by_exposure", "the results of omniglot-bandits hold no regret of L2RL"),
        (5, "epl2rl", "maze", "the results of water-maze hold no trajectories"),
        (6, "epl2rl", "gates", "the results of two-step hold no r-gates by block"),
    ],
)
def test_what_is_not_recorded_is_named(number: int, agent: str, part: str, missing: str) -> None:
    cut = {name: without(doc, agent, part) for name, doc in documents(number).items()}
    with pytest.raises(UserError, match=missing):
        FIGURES[number].draw(cut, None)


def test_names_of_others_are_text_and_stay_on_the_page() -> None:
    """An agent may have any name: long, with dollars, in any script."""
    document = documents(4)["compositional-bandits"]
    name = "an agent of $mine$ with a very long name indeed"
    agents = {**document["agents"], name: document["agents"]["epl2rl"]}
    named: Any = {"compositional-bandits": {**document, "agents": agents}}
    figure = figure_4(named)
    figure.draw_without_rendering()
    assert all(t.get_window_extent().x1 <= figure.bbox.x1 for t in texts_of(figure))


def test_memory_as_an_input_by_the_numbers_fed() -> None:
    def results(**rewards: list[float]) -> Any:
        agents = {
            name.replace("_", "-"): {"reward": {"mean": fmean(each), "per_seed": each}}
            for name, each in rewards.items()
        }
        return {"agents": agents, "optimum": {"chance": 2.0}}

    runs = {"epl2rl": [9.0, 11.0], "epl2rl_input": [2.0, 4.0], "epl2rl_input_4": [6.0, 10.0, 8.0]}
    (chart,) = memory_as_input(results(**runs))
    (series,) = chart.series
    assert [chart.categories[int(x)] for x in series.x] == ["4", "all 50"]
    assert [*series.y] == pytest.approx([0.75, 0.125])
    assert series.per_seed == [[0.5, 0.0], [1.0, 0.25], [0.75, None]]
    del runs["epl2rl_input_4"]  # the whole state alone is no comparison of sizes
    assert memory_as_input(results(**runs)) == []
