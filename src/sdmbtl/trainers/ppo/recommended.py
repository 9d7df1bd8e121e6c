"""Settings with which usual Gymnasium environments are learned, by the name of the environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Each was tried; what is left out is as for any environment.
RECOMMENDED: Mapping[str, Mapping[str, Any]] = {}
