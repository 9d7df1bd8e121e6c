"""What the page of a study is made of."""

import json
import time

import numpy as np
import pytest
from report_studies import HOSTILE, SPACES, add_policy, hostile_study, told_study

from sdmbtl import ContextSpace
from sdmbtl.contexts import Source
from sdmbtl.json_data import as_json
from sdmbtl.report import make_page, study_data
from sdmbtl.report.headline import weak_spots
from sdmbtl.selectors.trial import TrainingRun
from sdmbtl.studies import Study


@pytest.mark.parametrize("name", SPACES)
def test_every_space_can_be_shown(tmp_path, name):
    study = told_study(tmp_path / "study", SPACES[name])
    data = study_data(study)
    shown = data.space
    assert shown.targets == len(study.space)
    assert [d.name for d in shown.dimensions] == list(study.space.names)
    if study.space.is_grid:
        grid = np.stack(np.meshgrid(*(d.values for d in shown.dimensions), indexing="ij"), -1)
        assert np.allclose(grid.reshape(-1, len(shown.dimensions)), study.space.targets, rtol=1e-5)
    else:
        assert np.allclose(shown.points, study.space.targets, rtol=1e-5)
        assert np.allclose(shown.units, study.space.unit_targets, atol=1e-5)
    json.dumps(as_json(data), allow_nan=False)


def test_returns_and_policies_are_those_of_the_study(tmp_path):
    study = told_study(tmp_path / "study")
    study.tell(study.ask(), status="failed", error="no memory")
    add_policy(study)
    study.forget(1)
    data = study_data(study)
    assert [p.status for p in data.policies] == [t.status for t in study.trials]
    assert data.rows.policies == (0, 2, 4)
    rows = [study.trials[i].row for i in data.rows.policies]
    assert np.allclose(data.rows.unpacked(), rows, atol=1e-3)
    assert data.policies[4].performance == pytest.approx(study.performance)
    assert [p.reason for p in data.policies] == [t.reason for t in study.trials]
    assert [(f.policy, f.what, f.error) for f in data.failures] == [
        (3, "training, attempt 1", "no memory")
    ]


def test_the_headline_says_what_there_is(tmp_path):
    study = told_study(tmp_path / "mine")
    data = study_data(study)
    assert data.headline == f"mine: 3 policies, coverage {study.performance / 10:.3f} on 36 targets"
    labels = [card.label for card in data.cards]
    assert labels == ["Coverage", "Still badly covered", "The next policy", "Trained elsewhere"]
    assert data.cards[3].value == "3 reported"
    assert data.cards[2].value == "no forecast", "random choice makes none"


def test_without_a_range_there_are_returns_instead_of_shares(tmp_path):
    study = told_study(tmp_path / "mine", return_range=None)
    data = study_data(study)
    assert not data.range_known
    seen = np.array([t.row for t in study.trials])
    assert data.returns == pytest.approx((seen.min(), seen.max()))
    assert f"a mean best return of {study.performance:.4g} on" in data.headline


def test_forecasts_stand_beside_what_came(tmp_path):
    study = told_study(tmp_path / "mine", SPACES["plane"], policies=4, selector="auto")
    data = study_data(study)
    assert data.next_gain == pytest.approx(study.remaining_gain(1))
    assert data.cards[2].value == f"+{100 * data.next_gain / 10:.2g} points"
    assert "were expected to add" in " ".join(data.cards[2].lines)
    assert [p.expected_gain for p in data.policies] == [t.expected_gain for t in study.trials]
    assert set(data.mean_scores) == {model for p in data.policies for model in p.scores}


def test_a_study_without_policies_is_shown_too(tmp_path):
    study = told_study(tmp_path / "mine", policies=0)
    data = study_data(study)
    assert data.headline == "mine: no policy is finished yet, 36 targets"
    assert data.rows.policies == ()
    assert data.cards[1].value == "not known yet"
    make_page(data)


def test_what_is_badly_covered_is_found():
    space = SPACES["plane"]
    best = np.where(space.targets[:, 0] > 15, 2.0, 9.0)
    found = weak_spots(space, best, (0.0, 10.0))
    assert found.limit == 6.5
    assert found.count == (best == 2).sum()
    assert found.corner.words == "gravity ≥ 16.2"
    assert best[list(found.worst)].tolist() == [2.0] * len(found.worst)
    fine = weak_spots(space, np.full(len(space), 9.0), (0.0, 10.0))
    assert (fine.count, fine.corner) == (0, None)
    best[:3] = np.nan
    assert weak_spots(space, best, (0.0, 10.0)).without_return == 3


def test_the_limit_of_badly_can_be_chosen():
    best = np.array([5.0, 8.0, 9.0])
    space = ContextSpace(a=[1.0, 2.0, 3.0])
    counts = [weak_spots(space, best, (0.0, 10.0), badly=b).count for b in (0.05, 0.2, 0.5)]
    assert counts == [2, 1, 0]


def test_regions_have_boxes(tmp_path):
    space = ContextSpace(a=[0.0, 1.0, 2.0], b=[0.0, 4.0])
    study = told_study(tmp_path / "mine", space, policies=0, selector="generalist-first")
    study.tell(space.whole(), np.ones(6))
    study.tell(Source.at([2.0, 0.0], width=0.5), np.ones(6))
    study.tell(Source.at([1.0, 4.0]), np.ones(6))
    data = study_data(study)
    assert [p.kind for p in data.policies] == ["whole", "region", "point"]
    assert data.policies[1].box == [[0.75, 1.0], [0.0, 0.25]]
    assert data.policies[2].box == [[0.5, 0.5], [1.0, 1.0]]
    trained = data.cards[3].lines[0]
    assert trained == "1 policy on the whole space, 1 on regions, 1 on single contexts"


def test_long_curves_and_errors_are_cut(tmp_path):
    study = told_study(tmp_path / "mine", policies=0)
    errors = tuple("x" * 5000 + str(attempt) for attempt in range(120))
    curve = tuple((step, float(step)) for step in range(1000))
    run = TrainingRun(errors=errors, curve=curve)
    study.record(study.ask().updated(status="failed", run=run))
    data = study_data(study)
    assert (len(data.failures), data.more_failures) == (100, 20)
    assert len(data.failures[0].error) < 2100
    assert data.failures[7].error.endswith("x7")
    shown = data.policies[0].curve
    assert (len(shown), shown[0], shown[-1]) == (200, [0, 0.0], [999, 999.0])


def test_nothing_is_changed_and_no_policy_is_opened(tmp_path):
    study = told_study(tmp_path / "mine")
    before = {f: f.read_bytes() for f in sorted(study.path.rglob("*")) if f.is_file()}
    make_page(study_data(Study.open(study.path)))
    after = {f: f.read_bytes() for f in sorted(study.path.rglob("*")) if f.is_file()}
    assert before == after


def test_many_targets_and_policies_make_a_small_page_in_time(tmp_path):
    space = ContextSpace(
        length=np.linspace(0.2, 1.0, 9), cart=np.linspace(0.2, 2, 10), pole=np.linspace(0, 1, 10)
    )
    study = told_study(tmp_path / "big", space, policies=0)
    rng = np.random.default_rng(0)
    for trial in study.ask(50):
        study.tell(trial, rng.uniform(0, 10, (900, 2)))
    begun = time.process_time()
    page = make_page(study_data(Study.open(study.path)))
    # Process time, which a busy machine does not stretch: a tenth of a second, as a rule.
    assert time.process_time() - begun < 5
    assert len(page.encode()) < 3_000_000


def test_hostile_texts_are_data(tmp_path):
    data = study_data(hostile_study(tmp_path / "mine"))
    page = make_page(data)
    assert page.count("</script>") == 2, "those of the page itself"
    assert "<img" not in page
    assert "\u2028" not in page
    text = page.partition('id="data">')[2].partition("</script>")[0]
    shown = json.loads(text)
    assert shown["space"]["dimensions"][0]["name"] == HOSTILE
    assert shown["failures"][0]["error"] == f"{HOSTILE}\u2028\nsecond line"


def test_it_is_said_whether_a_process_works_on_it(tmp_path):
    study = told_study(tmp_path / "mine")
    assert not study_data(study).running
    with study.database.running():
        data = study_data(Study.open(study.path))
    assert data.running
    assert "It is running now." in data.cards[3].lines
