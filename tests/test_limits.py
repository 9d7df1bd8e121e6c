"""Limits: where they come from, and what is said when one is exceeded."""

import os
from dataclasses import fields

import pytest

from sdmbtl.errors import LimitError, LimitSettingError, SdmbtlError
from sdmbtl.limits import Limits, check_limit, current_limits, naming, raised_limits


@pytest.fixture(autouse=True)
def usual(monkeypatch):
    for name in [name for name in os.environ if name.startswith("SDMBTL_MAX_")]:
        monkeypatch.delenv(name)


def test_usual_limits():
    assert current_limits() == Limits()


@pytest.mark.parametrize("name", [field.name for field in fields(Limits)])
def test_every_limit_has_a_variable(name, monkeypatch):
    monkeypatch.setenv(f"SDMBTL_MAX_{name.upper()}", "12_345")
    assert getattr(current_limits(), name) == 12_345
    with raised_limits(**{name: 12_346}):
        assert getattr(current_limits(), name) == 12_346
    assert getattr(current_limits(), name) == 12_345


def test_limits_are_read_once_and_again_when_a_variable_changes(monkeypatch):
    assert current_limits() is current_limits()
    monkeypatch.setenv("SDMBTL_MAX_TARGETS", "7")
    assert current_limits().targets == 7
    monkeypatch.delenv("SDMBTL_MAX_TARGETS")
    assert current_limits() == Limits()


def test_inner_limits_keep_the_others():
    with raised_limits(targets=5), raised_limits(nesting=6):
        assert (current_limits().targets, current_limits().nesting) == (5, 6)


@pytest.mark.parametrize("text", ["", "many", "1.5", "0", "-3", "1e9"])
def test_variables_that_are_no_limits(text, monkeypatch):
    monkeypatch.setenv("SDMBTL_MAX_TARGETS", text)
    with pytest.raises(LimitSettingError, match="must be a whole number >= 1. Got"):
        current_limits()


def test_limits_that_are_none():
    with pytest.raises(LimitSettingError, match="Unknown limit 'target'; known: targets, counts"):
        raised_limits(target=1).__enter__()
    with pytest.raises(LimitSettingError, match="'targets' must be a whole number >= 1"):
        raised_limits(targets=0).__enter__()


def test_what_is_said():
    check_limit("targets", 10_000_000, "There are")
    with pytest.raises(LimitError) as caught:
        check_limit("targets", 10_000_001, "There are")
    assert str(caught.value) == (
        "There are 10,000,001; at most 10,000,000 are allowed. If so much is meant, allow it: set "
        "the environment variable SDMBTL_MAX_TARGETS=10000001, or in Python "
        "'with sdmbtl.limits.raised_limits(targets=10000001):'."
    )
    assert isinstance(caught.value, SdmbtlError)
    assert isinstance(caught.value, MemoryError)


def test_numbers_whose_digits_cannot_be_written():
    with pytest.raises(LimitError, match="There are more than 10.18; at most"):
        check_limit("targets", 10**10_000, "There are")


def test_the_file_is_named_once():
    with pytest.raises(LimitError) as caught, naming("a.npz"), naming("a.npz"):
        check_limit("nesting", 10**6, "The depth is")
    assert str(caught.value).startswith("a.npz: The depth is 1,000,000; ")
