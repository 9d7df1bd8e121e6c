"""A reward that is too large to compute with does not end a study."""

import numpy as np
from rough_walk import TROUBLES, open_rough, set_troubles

from sdmbtl.studies import Study


def test_a_run_continues_after_it(tmp_path, monkeypatch):
    monkeypatch.setenv(TROUBLES, str(tmp_path / "troubles.json"))
    set_troubles({})
    study = open_rough(tmp_path / "study", selector="gp-mbtl")

    def spoil(event):  # while policies are evaluated
        if event.stage in ("asked", "trained"):
            set_troubles({0.4: "largest"} if event.stage == "trained" else {})

    study.run(budget=4, min_gain=0.0, callbacks=[spoil], progress=False)
    rows = study.selector.rows.returns
    assert np.isnan(rows[:, 1]).all(), "that target counts as not evaluated"
    assert study.n_finished == 4
    again = Study.open(study.path)
    assert again.status()["policies"] == 4
    assert np.isfinite(again.portfolio().choose({"slope": 0.5}).expected_return)
    assert again.ask().id == 4
