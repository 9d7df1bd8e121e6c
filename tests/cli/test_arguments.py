"""What is written on a command line, as values."""

import pytest
from sdmbtl.cli.arguments import (
    ArgumentError,
    context,
    nested_settings,
    seconds,
    settings,
    trainer_options,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [("90", 90), ("1.5m", 90), ("1h30m", 5400), ("1d", 86400)],
)
def test_times(text, value):
    assert seconds(text, "--time") == value


@pytest.mark.parametrize("text", ["", "-3s", "3 weeks", "1m1", "9" * 400])
def test_what_is_not_a_time(text):
    with pytest.raises(ArgumentError, match="--time is a time: a number with its unit"):
        seconds(text, "--time")


def test_a_setting_is_given_once():
    with pytest.raises(ArgumentError, match="--set has 'a' twice"):
        settings(["a=1", "a=2"], "--set")


def test_settings_are_json_or_text():
    given = ["a=1", "b=[1, 2]", "c=text", "d=null", "e=x=y", "f="]
    expected = {"a": 1, "b": [1, 2], "c": "text", "d": None, "e": "x=y", "f": ""}
    assert settings(given, "--set") == expected


def test_nested_settings():
    given = ["h.gamma=0.98", 'h={"n": 3}', "h.net.width=8", "steps=5"]
    assert nested_settings(given, "--set") == {
        "h": {"gamma": 0.98, "n": 3, "net": {"width": 8}},
        "steps": 5,
    }


def test_contexts():
    assert context(["a=1, b=2", '{"c": 3}', "d=4"]) == {"a": 1, "b": 2, "c": 3, "d": 4}


def test_the_number_of_steps_is_given_once():
    assert trainer_options(["total_timesteps=5"], 5) == {"total_timesteps": 5}
    with pytest.raises(ArgumentError, match="Give one of them"):
        trainer_options(["total_timesteps=5"], 6)
