"""What the scripts have in common that measure on the shipped matrices and write a result file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace
from sdmbtl.files import write_atomically
from sdmbtl.fingerprint import code_fingerprint
from sdmbtl.json_data import as_json
from sdmbtl.software import versions
from sdmbtl_lab.benchmarks.result import DIGITS
from sdmbtl_lab.matrices import load_matrix, matrix_names
from sdmbtl_lab.matrices.margins import choice_margin

Floats = NDArray[np.float64]


def shipped_returns(least_margin: float) -> Iterator[tuple[str, ContextSpace, Floats]]:
    """Yield name, space and (S, N, N) scaled returns of the shipped data sets.

    Args:
        least_margin: Data sets with less than this between Random and the oracle (of the range,
            K = 6) are left out.
    """
    for name in matrix_names():
        dataset = load_matrix(name)
        returns = np.asarray(dataset.matrices.normalised().returns, dtype=np.float64)
        if choice_margin(returns) >= least_margin:
            yield name, dataset.space, returns


def scores(curve: Floats, random: Floats, oracle: Floats) -> list[float]:
    """(K,) performance on the scale where random choice is 0 and the oracle 1."""
    return [float(score) for score in (curve - random) / (oracle - random)]


def save_result(
    result: dict[str, Any], path: Path, simulation: str = "sdmbtl_lab.benchmarks.simulate"
) -> None:
    """Write a result file with the code and the versions that made it, atomically."""
    made_by = {"code": code_fingerprint("sdmbtl.selectors", simulation)}
    content = as_json({**result, **made_by, "versions": versions()}, DIGITS)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, (json.dumps(content, indent=1) + "\n").encode())
