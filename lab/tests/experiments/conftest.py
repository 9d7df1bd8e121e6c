"""Experiments are scripts outside of the package."""

import sys
from pathlib import Path

EXPERIMENTS = Path(__file__).parents[3] / "lab" / "experiments"

# Behind everything else: a script there must not hide a library of the same name.
if str(EXPERIMENTS) not in sys.path:
    sys.path.append(str(EXPERIMENTS))
