"""Result files: one JSON document for each benchmark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sdmbtl.errors import BenchmarkError
from sdmbtl.files import write_atomically

#: What a result of each benchmark must have.
RESULT_KEYS = {
    "synthetic": ("dim", "noise", "trials", "rounds", "selectors", "configurations", "aggregated"),
    "real": ("matrices", "rounds", "budgets", "selectors", "data", "aggregated"),
    "selectors": ("parts",),
}


def save_result(result: dict[str, Any], path: Path) -> None:
    """Write a result file, atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, (json.dumps(_rounded(result), indent=1) + "\n").encode())


def load_result(path: Path) -> dict[str, Any]:
    """Read a result file."""
    try:
        result = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise BenchmarkError(f"{path} is no result of a benchmark: {error}.") from None
    kind = result.get("benchmark") if isinstance(result, dict) else None
    if kind not in RESULT_KEYS:
        raise BenchmarkError(f"{path} is no result of `sdmbtl bench`.")
    missing = [key for key in RESULT_KEYS[kind] if key not in result]
    if missing:
        raise BenchmarkError(
            f"{path} is no result of `sdmbtl bench {kind}`: it has no {missing[0]!r}."
        )
    return result  # type: ignore[no-any-return]


def _rounded(value: Any) -> Any:
    """Six digits behind the point are what a result file keeps."""
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, dict):
        return {key: _rounded(v) for key, v in value.items()}
    if isinstance(value, list):
        return [_rounded(v) for v in value]
    return value
