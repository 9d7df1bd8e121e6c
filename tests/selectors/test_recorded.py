"""Recorded selections pin every algorithm: a change of choices must be meant."""

import json

from record_selections import PATH, selections


def test_choices_are_the_recorded_ones():
    assert selections() == json.loads(PATH.read_text())
