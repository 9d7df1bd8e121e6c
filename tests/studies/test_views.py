"""What a study and its parts show of themselves."""

from report_studies import HOSTILE, SPACES, hostile_study, told_study


def test_notebooks_show_a_study(tmp_path):
    study = told_study(tmp_path / "mine", SPACES["cube"])
    html = study._repr_html_()
    assert html.count("<tr>") == 4
    assert study.trials[2].reason in html
    assert f"{100 * study.status()['coverage']:.1f} %" in html


def test_hostile_texts_stay_texts(tmp_path):
    html = hostile_study(tmp_path / "mine")._repr_html_()
    assert "<script" not in html
    assert "<img" not in html
    assert HOSTILE.replace("<", "&lt;").replace(">", "&gt;").replace("'", "&#x27;") in html
