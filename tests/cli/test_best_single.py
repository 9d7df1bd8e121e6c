"""What the best policy does alone, beside what all of them do together."""

import pytest

from sdmbtl import ContextSpace
from sdmbtl.studies import Study

LINE = ContextSpace(a=range(4))
NAN = float("nan")


def told(path, *rows, **settings):
    study = Study.open(path, space=LINE, **settings)
    for context, row in zip(LINE, rows, strict=False):
        study.tell(context, row)
    return study


def line(command, path):
    """What `sdmbtl status` says of the best policy; None if nothing."""
    lines = command("status", path).stdout.splitlines()
    found = [text for text in lines if "best single" in text or "nearly as good" in text]
    assert len(found) <= 1
    return found[0] if found else None


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        (
            [[9, 5, 5, 5], [5, 9, 9, 5], [0, 0, 0, 8]],
            "The best single policy (1) covers 0.700 alone, all 3 together 0.875.",
        ),
        (
            [[9, 5, 5, 5], [5, 9, 9, 5]],
            "The best single policy (1) covers 0.700 alone, both together 0.800.",
        ),
        # 0.2 of 4 * 10 are half a point; a little more is not.
        (
            [[9, 9, 9, 9], [9.19, 0, 0, 0], [0, 0, 0, 0]],
            "One policy is nearly as good as all 3: policy 0 covers 0.900 alone.",
        ),
        (
            [[9, 9, 9, 9], [9.21, 0, 0, 0], [0, 0, 0, 0]],
            "The best single policy (0) covers 0.900 alone, all 3 together 0.905.",
        ),
        ([[9, 9, 9, 9]], None),
        ([], None),
    ],
)
def test_by_coverage(command, tmp_path, rows, text):
    told(tmp_path / "s", *rows, return_range=(0, 10))
    assert line(command, tmp_path / "s") == text


def test_by_mean_return_where_the_range_is_not_known(command, tmp_path):
    told(tmp_path / "far", [-9, 5, 5, 5], [1, 1, 1, 1])
    assert line(command, tmp_path / "far") == (
        "The best single policy (0) has a mean return of 1.5 alone, both together 4."
    )
    told(tmp_path / "near", [1, 5, 5, 5], [1.01, 1, 1, 1])
    assert line(command, tmp_path / "near") == (
        "One policy is nearly as good as both: policy 0 has a mean return of 4 alone."
    )


def test_as_json(command, tmp_path):
    study = told(tmp_path / "s", return_range=(0, 10))
    assert study.status()["best_single"] is None
    study.tell(LINE.target(0), [9, 9, NAN, NAN])
    assert study.status()["best_single"] is None, "not evaluated on all targets"
    study.tell(LINE.target(1), [4, 4, 4, 8])
    expected = {"id": 1, "performance": 5.0, "coverage": 0.5}
    assert command.json("status", tmp_path / "s")["best_single"] == expected


def test_a_run_ends_with_it(command, trained):
    path, result = trained
    assert line(command, path) in result.stdout.splitlines()
