"""The baseline of a study: the same steps, kept with the study, resumable."""

from dataclasses import asdict

import numpy as np
import pytest
from small_study import REGIONS, open_small

from sdmbtl.errors import StudyError
from sdmbtl.policies import load_policy
from sdmbtl.report import study_data
from sdmbtl.studies.comparison import compare_studies
from sdmbtl.studies.describe import status_lines
from sdmbtl.training import evaluate


@pytest.fixture
def study(tmp_path):
    study = open_small(tmp_path / "study", **REGIONS)
    study.run(budget=1)
    return study


def test_a_study_without_policies_has_no_baseline(tmp_path):
    with pytest.raises(StudyError, match="no finished policy"):
        open_small(tmp_path / "empty", **REGIONS).baseline()


class StopTraining(Exception):  # noqa: N818 (it is no error)
    pass


def test_a_baseline_has_all_steps_of_the_study_and_is_compared_in_new_episodes(study):
    made = study.baseline()
    assert made.study_steps == study.steps
    assert made.study_steps <= made.steps < made.study_steps + 4096  # whole iterations
    policy = load_policy(study.path / "baselines" / "hidden.safetensors")
    assert not policy.sees_context
    returns = evaluate(study.training, policy, study.space.targets, episodes=40, seed=5).returns
    assert made.mean_return == pytest.approx(returns.mean(), rel=0.25)
    assert made.study_return == pytest.approx(study.evaluate(episodes=40).mean(), rel=0.25)


def test_it_is_kept_with_the_study_and_shown(study):
    made = study.baseline("told")
    assert load_policy(study.path / "baselines" / "told.safetensors").sees_context
    snapshot = study.snapshot()
    assert [asdict(made)] == study.status()["baselines"]
    span = study.return_range[1] - study.return_range[0]
    lead = 100 * (made.study_return - made.mean_return) / span
    side = "ahead of" if lead >= 0 else "behind"
    shown = [line for line in status_lines(snapshot) if f"points {side} one policy" in line]
    assert shown[0].startswith(f"{abs(lead):.1f} ± ")
    assert len(shown) == 1
    assert shown[0] in study_data(study)["summary"], "with the report's coverage it would not agree"
    assert compare_studies([study.path]).verdicts() == [f"study, seed 3: {shown[0]}"]


def test_a_baseline_continues_and_is_not_trained_twice(study, tmp_path, monkeypatch):
    twin = open_small(tmp_path / "twin", **REGIONS)
    twin.run(budget=1)
    monkeypatch.setattr("sdmbtl.studies.networks.CHECKPOINT_SECONDS", 0.0)
    seen = []

    def stop(report):
        if report.stage == "training" and report.steps >= 4096:
            raise StopTraining

    with pytest.raises(StopTraining):
        study.baseline(progress=stop)
    assert study.snapshot().baselines == []
    resumed = study.baseline(progress=seen.append)
    assert seen[0].stage == "continued" or any(r.stage == "continued" for r in seen)
    assert resumed == twin.baseline()
    assert list((study.path / "baselines").glob("*.npz")) == []
    assert study.baseline(progress=stop) == resumed  # read, not trained


def test_a_study_that_went_on_gets_a_new_baseline(study):
    before = study.baseline()
    study.run(budget=2)
    (line,) = [line for line in status_lines(study.snapshot()) if "one policy on" in line]
    assert "before the last 1 policy" in line
    after = study.baseline()
    assert after.steps > before.steps
    assert after.policies == 2
    assert np.isfinite(after.standard_error)
