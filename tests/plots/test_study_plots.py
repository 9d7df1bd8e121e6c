"""The figures of a study."""

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from report_studies import SPACES, told_study

from sdmbtl import ContextSpace
from sdmbtl.contexts import Source
from sdmbtl.errors import FigureError, StudyError
from sdmbtl.palette import policy_colour
from sdmbtl.plots import save_axes
from sdmbtl.selectors.trial import TrainingRun


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    path = tmp_path_factory.mktemp("studies") / "plane"
    return told_study(path, SPACES["plane"], policies=4, selector="auto")


def test_coverage_is_that_of_the_status(study):
    own = Figure().add_subplot()
    assert study.plot.coverage(ax=own) is own
    drawn = own.lines[0]
    assert drawn.get_xdata().tolist() == [1, 2, 3, 4]
    expected = [100 * entry["coverage"] for entry in study.status()["rounds"]]
    assert drawn.get_ydata().tolist() == expected


def test_without_a_range_it_is_the_mean_best_return(tmp_path):
    axes = told_study(tmp_path / "mine", return_range=None).plot.coverage()
    assert axes.get_ylabel() == "mean best return"


def test_curves_are_those_of_training(tmp_path):
    study = told_study(tmp_path / "mine", policies=0)
    for number in range(3):
        run = TrainingRun(curve=((0, 1.0), (10, 2.0 + number)))
        trial = study.ask().updated(status="failed", run=run)
        with study.write_lock():
            study.store.write(trial)
    axes = study.plot.curves()
    assert [line.get_ydata()[-1] for line in axes.lines] == [2, 3, 4]
    assert axes.xaxis.get_major_formatter()(50_000, 0) == "50k"


@pytest.mark.parametrize("name", SPACES)
def test_every_space_has_a_map(tmp_path, name):
    study = told_study(tmp_path / "mine", SPACES[name])
    save_axes(study.plot.map(), tmp_path / "map.png")
    assert (tmp_path / "map.png").stat().st_size > 3000


def test_a_map_shows_the_slice_through_the_worst_target(tmp_path):
    study = told_study(tmp_path / "mine", SPACES["cube"])
    axes = study.plot.map()
    worst = study.space.target(int(np.nanargmin(study.selector.expected_best)))
    assert axes.get_title() == f"length {worst['length']:g}"
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("mass", "wind")
    assert [text.get_text() for text in axes.get_xticklabels()] == ["1", "2", "3"], "ascending"
    picture = axes.images[0].get_array()
    assert picture.shape[:2] == (4, 3)


def test_colours_say_who_serves_and_how_well(tmp_path):
    space = ContextSpace(a=[0.0, 1.0, 2.0], b=[0.0, 4.0])
    study = told_study(tmp_path / "mine", space, policies=0, selector="generalist-first")
    study.tell(space.whole(), [9, 9, 9, 2, 2, 2])
    study.tell(Source.at([2.0, 4.0], width=0.5), [0, 0, 0, 0, 9, 9])
    axes = study.plot.map()
    picture = axes.images[0].get_array()  # rows are b, columns are a
    assert np.allclose(picture[0, 0], to_rgb(policy_colour(0)))
    assert np.allclose(picture[0, 2], to_rgb(policy_colour(1)))
    hatched = [patch.get_xy() for patch in axes.patches if patch.get_hatch()]
    assert hatched == [(0.5, 0.5)], "where it does badly"
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["0: 4", "1: 2"]
    assert len(axes.patches) == 2, "and the region; not the whole space"


def test_what_cannot_be_drawn_is_said(tmp_path):
    empty = told_study(tmp_path / "mine", policies=0)
    for name in ("coverage", "map", "curves"):
        with pytest.raises(StudyError, match="no finished policies|no learning curves"):
            getattr(empty.plot, name)()


def test_the_name_of_the_file_says_the_format(tmp_path, study):
    for ending, begins in {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}.items():
        save_axes(study.plot.coverage(), tmp_path / f"a.{ending}")
        assert (tmp_path / f"a.{ending}").read_bytes().startswith(begins)
    with pytest.raises(FigureError, match=r"\.pdf, \.png, \.svg. Got 'a.gif'"):
        save_axes(study.plot.coverage(), tmp_path / "a.gif")
