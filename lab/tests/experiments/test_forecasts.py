"""How forecasts are judged, by hand; and that the documented numbers are the measured ones."""

import json
from pathlib import Path

import pytest

from forecasts import gains_to_come, kind_of, measure, where_to_stop
from sdmbtl.studies.reach import Reach
from sdmbtl_lab.benchmarks import MatrixProblem

ROOT = Path(__file__).parents[3]
#: After each policy; 0.01 comes with policy 5 and with policy 9.
CURVE = [0.1, 0.5, 0.6, 0.6, 0.61, 0.61, 0.61, 0.61, 0.62, 0.62, 0.62, 0.62, 0.62]


def test_gains_to_come():
    gains = gains_to_come(CURVE)
    assert list(gains) == [*range(3, 11)]
    assert [k for k, gain in gains.items() if gain > 0.005] == [3, 4, 6, 7, 8]
    assert gains[3] == pytest.approx(0.01)


def test_where_to_stop():
    assert where_to_stop(CURVE) == (5, 9), "three more after policy 5 add nothing, then some do"
    assert where_to_stop([0.6] * 8) == (3, 3)
    assert where_to_stop([0.1 * k for k in range(8)]) == (8, 6), "not in this run"


@pytest.mark.parametrize(
    ("policies", "wanted", "expected"),
    [
        ((1, 4), 0.62, ("from to", True)),  # it came with the fourth
        ((1, 3), 0.62, ("from to", False)),
        ((5, 9), 0.62, ("from to", False)),
        ((1, None), 0.62, ("from on", True)),
        (None, 0.62, ("never", False)),
        (None, 0.7, ("never", True)),
        ((1, 7), 0.7, ("from to", False)),  # 8 more were trained
        ((1, 9), 0.7, ("from to", True)),  # nobody knows
    ],
)
def test_whether_a_forecast_was_right(policies, wanted, expected):
    reach = Reach(wanted, policies, None, 1.0, (1.0, 1.0))
    assert kind_of(reach, 5, CURVE) == expected


def test_a_data_set_is_measured():
    found = measure(MatrixProblem("bipedal-walker"), [0], policies=9)
    assert found["forecasts"] == 2, "after policies 5 and 6"
    assert found["ratio"] == pytest.approx(found["forecast"] / found["came"])
    assert len(found["stops"]) == 1


def test_the_documentation_says_what_was_measured():
    result = json.loads((ROOT / "results" / "forecasts.json").read_text())
    text = " ".join((ROOT / "docs" / "selectors.md").read_text().split())
    ratios = [one["ratio"] for one in result["data"] if one["ratio"] is not None]
    assert f"between {min(ratios):.2f} and {max(ratios):.2f} times what came" in text
    assert result["stops_near"] >= 0.95 * result["runs"]
    assert f"in {result['stops_near']} of {result['runs']} runs" in text
    assert f"within three of the first, in {result['stops_near_the_first']}." in text
    for kind in ("from to", "from on", "never"):
        counts = result["reaches"][kind]
        assert f"in {counts['right']} of {counts['count']}" in text
    assert result["within_2"] == result["data_sets"] == 9
