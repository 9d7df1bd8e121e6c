"""Recorded hashes pin the bytes of policies and returns: a change of them must be meant.

Hashes are compared on a machine with the recorded fingerprint; on another one, where numbers are
rounded otherwise, the mean return is, within a loose tolerance.
"""

import json

import pytest
from record_policies import OUTCOMES, PATH, fingerprint

RECORD = json.loads(PATH.read_text())
#: On another machine a mean return may differ by this share of the larger one.
LOOSE = 0.6
#: These compile once more for what the others show nearly as well.
SLOW = {"ppo, Pendulum, chunk of 3", "study, batch 2"}


@pytest.fixture(scope="module")
def same_machine():
    return fingerprint() == RECORD["machine"]


def test_every_outcome_is_recorded():
    assert set(RECORD["outcomes"]) == set(OUTCOMES)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] if n in SLOW else []) for n in OUTCOMES]
)
def test_outcomes_are_the_recorded_ones(name, same_machine):
    then, now = RECORD["outcomes"][name], OUTCOMES[name]()
    if same_machine:
        assert now == then
    else:
        difference = abs(now["mean"] - then["mean"])
        assert difference <= LOOSE * max(abs(now["mean"]), abs(then["mean"]))
