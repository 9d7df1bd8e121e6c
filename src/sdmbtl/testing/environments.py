"""Conformance check of environment families; it raises FamilyError with a sentence."""

from sdmbtl.environments.checks import check_contextual_env

__all__ = ["check_contextual_env"]
