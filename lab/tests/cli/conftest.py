"""Fixtures of commands, as the product's tests have them."""

from command_runner import command, own_signals, tiny

__all__ = ["command", "own_signals", "tiny"]
