"""What the page of a study is made of."""

import base64
import html
import json

import numpy as np
import pytest
from report_studies import HOSTILE, SPACES, add_policy, hostile_study, told_study

from sdmbtl import ContextSpace
from sdmbtl.contexts import Source
from sdmbtl.report import make_page, study_data
from sdmbtl.report.study_data import pack_rows
from sdmbtl.selectors.trial import TrainingRun
from sdmbtl.studies import Study


@pytest.mark.parametrize("name", SPACES)
def test_every_space_can_be_shown(tmp_path, name):
    study = told_study(tmp_path / "study", SPACES[name])
    data = study_data(study)
    shown, dimensions = data["space"], data["space"]["dimensions"]
    assert shown["targets"] == len(study.space)
    assert [d["name"] for d in dimensions] == list(study.space.names)
    if study.space.is_grid:
        grid = np.stack(np.meshgrid(*(d["values"] for d in dimensions), indexing="ij"), -1)
        assert np.allclose(grid.reshape(-1, len(dimensions)), study.space.targets, rtol=1e-5)
    else:
        assert np.allclose(shown["points"], study.space.targets, rtol=1e-5)
        assert np.allclose(shown["units"], study.space.unit_targets, atol=1e-5)
    json.dumps(data, allow_nan=False)


def unpacked(rows):
    """(k, N) the returns, as a page reads them."""
    steps = np.frombuffer(base64.b64decode(rows["data"]), dtype="<u2").astype(float)
    shares = np.where(steps == 65_535, np.nan, steps / 65_534)
    return rows["low"] * (1 - shares) + rows["high"] * shares


def test_returns_and_policies_are_those_of_the_study(tmp_path):
    study = told_study(tmp_path / "study")
    study.tell(study.ask(), status="failed", error="no memory")
    add_policy(study)
    study.forget(1)
    data = study_data(study)
    assert [p["status"] for p in data["policies"]] == [t.status for t in study.trials]
    assert data["rows"]["policies"] == [0, 2, 4]
    rows = [study.trials[i].row for i in (0, 2, 4)]
    assert np.allclose(unpacked(data["rows"]), np.ravel(rows), atol=1e-3)
    assert data["policies"][4]["performance"] == pytest.approx(study.performance)
    assert [p["reason"] for p in data["policies"]] == [t.reason for t in study.trials]
    assert data["failures"] == [{"what": "Policy 3, training, attempt 1", "error": "no memory"}]


@pytest.mark.parametrize(
    "rows", [np.zeros((0, 0)), np.full((2, 3), 7.0), np.full((1, 3), np.nan), [[-1e99, 0, 1e99]]]
)
def test_there_is_no_return_that_cannot_be_packed(rows):
    rows = np.asarray(rows, dtype=float)
    found = unpacked(pack_rows(rows))
    assert np.allclose(found, rows.ravel(), rtol=1e-4, equal_nan=True)


def test_the_title_and_the_tiles_say_what_there_is(tmp_path):
    study = told_study(tmp_path / "mine", SPACES["plane"], policies=4, selector="auto")
    data = study_data(study)
    level = f"{10 * study.performance:.1f} %"
    assert data["title"] == f"mine: 4 policies: coverage {level}"
    tiles = dict(data["tiles"])
    assert tiles["Coverage"] == level
    assert tiles["Another policy"] == f"{10 * study.selector.remaining_gain(1):+.1f} points"


def test_without_a_range_there_are_returns_instead_of_shares(tmp_path):
    study = told_study(tmp_path / "mine", return_range=None)
    data = study_data(study)
    assert not data["range_known"]
    seen = np.array([t.row for t in study.trials])
    assert data["returns"] == pytest.approx([seen.min(), seen.max()])
    assert f"mean best return {study.performance:.4g}" in data["title"]


def test_a_study_without_policies_is_shown_too(tmp_path):
    data = study_data(told_study(tmp_path / "mine", policies=0))
    assert data["title"] == "mine: no finished policy, 36 tasks"
    assert (data["rows"]["policies"], data["tiles"]) == ([], [])
    make_page(data)


def test_regions_have_boxes(tmp_path):
    space = ContextSpace(a=[0.0, 1.0, 2.0], b=[0.0, 4.0])
    study = told_study(tmp_path / "mine", space, policies=0, selector="generalist-first")
    study.tell(space.whole(), np.ones(6))
    study.tell(Source.at([2.0, 0.0], width=0.5), np.ones(6))
    study.tell(Source.at([1.0, 4.0]), np.ones(6))
    data = study_data(study)
    assert [p["kind"] for p in data["policies"]] == ["whole", "region", "point"]
    assert data["policies"][1]["box"] == [[0.75, 1.0], [0.0, 0.25]]
    assert data["policies"][2]["box"] == [[0.5, 0.5], [1.0, 1.0]]


def test_long_curves_and_errors_are_cut(tmp_path):
    study = told_study(tmp_path / "mine", policies=0)
    errors = tuple("x" * 5000 + str(attempt) for attempt in range(120))
    curve = tuple((step, float(step)) for step in range(1000))
    run = TrainingRun(errors=errors, curve=curve)
    trial = study.ask().updated(status="failed", run=run)
    with study.write_lock():
        study.store.write(trial)
    data = study_data(study)
    assert (len(data["failures"]), data["more_failures"]) == (100, 20)
    assert len(data["failures"][0]["error"]) == 2000
    assert data["failures"][7]["error"].endswith("x7")
    shown = data["policies"][0]["curve"]
    assert (len(shown), shown[0], shown[-1]) == (200, [0, 0.0], [999, 999.0])


def test_nothing_is_changed_and_no_policy_is_opened(tmp_path):
    study = told_study(tmp_path / "mine")
    before = {f: f.read_bytes() for f in sorted(study.path.rglob("*")) if f.is_file()}
    make_page(study_data(Study.open(study.path)))
    after = {f: f.read_bytes() for f in sorted(study.path.rglob("*")) if f.is_file()}
    assert before == after


def test_hostile_texts_are_data(tmp_path):
    data = study_data(hostile_study(tmp_path / "mine"))
    page = make_page(data)
    assert page.count("</script>") == 2, "those of the page itself"
    assert "<img" not in page
    text = page.partition('id="data">')[2].partition("</script>")[0]
    shown = json.loads(text)
    assert shown["space"]["dimensions"][0]["name"] == HOSTILE
    assert html.escape(f"{HOSTILE}\u2028\nsecond line") in page
