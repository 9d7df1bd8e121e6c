"""Learning curves as one table."""

import csv
import io

from sdmbtl.policies.base import load_notes
from sdmbtl.studies.tables import CURVE_COLUMNS, curves_as_csv


def test_a_row_for_each_evaluation(finished):
    rows = list(csv.DictReader(io.StringIO(curves_as_csv(finished))))
    assert tuple(rows[0]) == CURVE_COLUMNS
    curves = [(t.id, *point) for t in finished.trials for point in t.run.curve]
    assert [(int(r["policy"]), int(r["steps"]), float(r["mean_return"])) for r in rows] == curves
    assert rows[0]["source"].startswith("length=")
    assert {row["attempt"] for row in rows} == {"0"}
    seeds = [load_notes(finished.policy_path(int(row["policy"])))["seed"] for row in rows]
    assert [int(row["seed"]) for row in rows] == seeds
