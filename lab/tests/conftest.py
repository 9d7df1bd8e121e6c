"""Commands of the lab, run in this process."""

import pytest
from command_runner import Command, own_signals, tiny

__all__ = ["own_signals", "tiny"]


class LabCommand(Command):
    """Runs commands below `sdmbtl lab`."""

    def __call__(self, *arguments, **options):
        return super().__call__("lab", *arguments, **options)


@pytest.fixture(scope="session")
def command():
    return LabCommand()
