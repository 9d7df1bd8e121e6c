"""Recorded selections pin every algorithm: a change of choices must be meant."""

import json

import pytest
from record_selections import HEAVY, PATH, QUICK, differences

RECORD = json.loads(PATH.read_text())


def test_every_case_is_recorded():
    assert set(RECORD) == set(QUICK | HEAVY)


@pytest.mark.parametrize("name", QUICK)
def test_choices_are_the_recorded_ones(name):
    assert_as_recorded(name, QUICK[name]._replace(seeds=(0,)))


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK | HEAVY)
def test_choices_of_all_seeds_are_the_recorded_ones(name):
    assert_as_recorded(name, (QUICK | HEAVY)[name])


def assert_as_recorded(name, case):
    changed = differences(name, case, RECORD[name])
    assert not changed, f"{len(changed)} changes:\n" + "\n".join(changed)
