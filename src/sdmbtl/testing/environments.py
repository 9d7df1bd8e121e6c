"""Conformance checks of environment families; each raises FamilyError with a sentence."""

from sdmbtl.environments.checks import check_contextual_env, environment_checks

__all__ = ["check_contextual_env", "environment_checks"]
