"""What a study and its parts show of themselves."""

import builtins

import numpy as np
import pytest
from report_studies import HOSTILE, SPACES, hostile_study, told_study

from sdmbtl.errors import MissingPackageError
from sdmbtl.selectors.trial import TrainingRun


def test_the_data_frame_has_every_trial(tmp_path):
    pytest.importorskip("pandas")
    study = told_study(tmp_path / "mine", SPACES["plane"], policies=4, selector="auto")
    study.tell(study.ask(), status="failed", error="no memory")
    frame = study.trials_dataframe()
    assert frame.index.tolist() == [0, 1, 2, 3, 4]
    assert frame["status"].tolist() == ["finished"] * 4 + ["failed"]
    assert frame["context.mass"].tolist() == [t.context["mass"] for t in study.trials]
    assert frame["performance"][3] == pytest.approx(study.performance)
    assert np.isnan(frame["performance"][4])
    assert frame["reason"][1] == study.trials[1].reason


def test_the_data_frame_of_nothing_has_its_columns(tmp_path):
    pytest.importorskip("pandas")
    frame = told_study(tmp_path / "mine", SPACES["plane"], policies=0).trials_dataframe()
    assert len(frame) == 0
    assert {"status", "context.gravity", "gain"} <= set(frame.columns)


def test_without_pandas_it_is_said_what_to_install(tmp_path, monkeypatch):
    study = told_study(tmp_path / "mine")
    real = builtins.__import__

    def without_pandas(name, *arguments, **options):
        if name == "pandas":
            raise ModuleNotFoundError("No module named 'pandas'", name="pandas")
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without_pandas)
    with pytest.raises(MissingPackageError, match=r"pip install 'sdmbtl\[pandas\]'"):
        study.trials_dataframe()


def test_learning_curves_are_in_the_status(tmp_path):
    study = told_study(tmp_path / "mine", policies=1)
    curve = ((0, 1.5), (64, 3.0))
    trial = study.ask().updated(run=TrainingRun(curve=curve))
    with study.log.write_lock():
        study.log.record(trial)
    rounds = study.status()["rounds"]
    assert [entry["curve"] for entry in rounds] == [[], [[0, 1.5], [64, 3.0]]]


def test_notebooks_show_a_study_and_its_portfolio(tmp_path):
    study = told_study(tmp_path / "mine", SPACES["cube"])
    html = study._repr_html_()
    assert html.count("<tr>") == 4
    assert study.trials[2].reason in html
    assert f"{100 * study.status()['coverage']:.1f} %" in html
    served = study.portfolio().table()
    html = study.portfolio()._repr_html_()
    assert all(f"<td>{row['targets']}</td>" in html for row in served)


def test_hostile_texts_stay_texts(tmp_path):
    study = hostile_study(tmp_path / "mine")
    for shown in (study, study.portfolio()):
        html = shown._repr_html_()
        assert "<script" not in html
        assert "<img" not in html
        assert HOSTILE.replace("<", "&lt;").replace(">", "&gt;").replace("'", "&#x27;") in html
