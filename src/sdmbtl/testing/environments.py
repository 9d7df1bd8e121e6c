"""What every family of environments must do, as checks that raise FamilyError with a sentence."""

from sdmbtl.environments.checks import check_environment, environment_checks

__all__ = ["check_environment", "environment_checks"]
