"""A reward of any finite size does not end a study."""

import numpy as np
import pytest
from rough_walk import TROUBLES, open_rough, set_troubles

from sdmbtl.studies import Study


@pytest.mark.parametrize(
    ("selector", "kind", "size"), [("auto", "huge", 8e200), ("gp-mbtl", "largest", 1.7e308)]
)
def test_a_run_continues_after_it(tmp_path, monkeypatch, selector, kind, size):
    monkeypatch.setenv(TROUBLES, str(tmp_path / "troubles.json"))
    set_troubles({})
    study = open_rough(tmp_path / "study", selector=selector, width=0, init="scratch")

    def spoil(event):  # while policies are evaluated
        if event.stage in ("asked", "trained"):
            set_troubles({0.4: kind} if event.stage == "trained" else {})

    study.run(budget=4, min_gain=0.0, callbacks=[spoil], progress=False)
    rows = study.selector.rows.returns
    assert np.abs(rows[:, 1]).max() == pytest.approx(size)
    assert study.n_finished == 4
    again = Study.open(study.path)
    assert again.status()["policies"] == 4
    assert np.isfinite(again.portfolio().choose({"slope": 0.5}).expected_return)
    assert again.ask().id == 4
