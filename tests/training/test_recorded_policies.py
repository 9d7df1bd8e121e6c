"""Recorded hashes pin the bytes of policies and returns: a change of them must be meant.

Hashes are compared on a machine with the recorded fingerprint; on another one, where numbers are
rounded otherwise, the mean return is, within a loose tolerance.
"""

import json
import os
import subprocess
import sys
from itertools import chain

import pytest
import record_policies
from record_policies import OUTCOMES, PATH

RECORD = json.loads(PATH.read_text())
#: On another machine a mean return may differ by this share of the larger one.
LOOSE = 0.6
#: Outcomes that are made in one process, because they share compiled functions.
USUAL = ("ppo, CartPole, alone", "sb3, CartPole, two policies")
#: These compile once more for what the usual ones show nearly as well.
SLOW = (
    ("ppo, CartPole, chunk of 3", "matrix"),
    ("ppo, CartPole, four contexts, observed", "ppo, Pendulum, alone"),
    ("ppo, Pendulum, chunk of 3", "study, batch 1", "study, batch 2"),
)


def test_every_outcome_is_recorded():
    assert set(RECORD["outcomes"]) == set(OUTCOMES) == {*USUAL, *chain(*SLOW)}


@pytest.mark.parametrize(
    "names", [USUAL, *(pytest.param(names, marks=pytest.mark.slow) for names in SLOW)]
)
def test_outcomes_are_the_recorded_ones(names):
    """Another process compiles as users do; tests compile without optimisations."""
    environment = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
    command = [sys.executable, record_policies.__file__, *names]
    made = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    now = json.loads(made.stdout)
    then = {name: RECORD["outcomes"][name] for name in names}
    if now["machine"] == RECORD["machine"]:
        assert now["outcomes"] == then
        return
    means = {name: (now["outcomes"][name]["mean"], then[name]["mean"]) for name in names}
    for name, (mean, recorded) in means.items():
        assert abs(mean - recorded) <= LOOSE * max(abs(mean), abs(recorded)), name
