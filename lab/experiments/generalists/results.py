"""Measurements of all methods, gathered in one file."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiment import STUDY_CODE
from generalists.data_sets import MARKS, DataSet
from generalists.measuring import Floats, load_rows
from generalists.methods import METHODS, Method
from sdmbtl_lab.fingerprint import code_fingerprint

#: A target is served well within this share of the range below the best known return.
NEAR = 0.05


def folder_of(work: Path, data: DataSet, method: Method) -> Path:
    """Return the folder of a method's measurements; keyed methods have one per code version."""
    names = ["-".join(re.findall("[a-z0-9]+", name.lower())) for name in (data.name, method.name)]
    folder = work.joinpath(*names)
    return folder / code_fingerprint(*STUDY_CODE) if method.keyed else folder


def collect(work: Path, data_sets: Sequence[DataSet], earlier: Mapping[str, Any]) -> dict[str, Any]:
    """Gather all measurements as JSON data.

    Args:
        work: The work directory.
        data_sets: The data sets.
        earlier: An earlier result. Its measurements of a method stay until there are newer ones
            with as many seeds; the share of targets near the best is not known then.
    """
    same_code = earlier.get("code") == code_fingerprint(*STUDY_CODE)
    known = earlier.get("data", {})
    measured = {d.name: _of_data_set(work, d, known.get(d.name, {})) for d in data_sets}
    for name, found in measured.items():
        before = known.get(name, {}).get("methods", {})
        for method in METHODS:
            counts = method.name in before and (same_code or not method.keyed)
            if counts and len(before[method.name]) > len(found["methods"].get(method.name, {})):
                found["methods"][method.name] = before[method.name]
                for seeds in found["methods"].values():
                    for seed in seeds.values():
                        seed.pop("near_best", None)
    return {
        "marks": list(MARKS),
        "near": NEAR,
        "data": {name: found for name, found in measured.items() if found["methods"]},
    }


def _of_data_set(work: Path, data: DataSet, earlier: Mapping[str, Any]) -> dict[str, Any]:
    """Gather what was measured; the environments are made only if there is something."""
    found: dict[str, dict[str, Any]] = {}
    rows: dict[str, dict[str, dict[str, Floats]]] = {}
    for method in METHODS:
        folder, name = folder_of(work, data, method), method.name
        for path in sorted(folder.glob("*.json"), key=lambda p: int(p.stem)):
            found.setdefault(name, {})[path.stem] = json.loads(path.read_text())
            rows.setdefault(path.stem, {})[name] = load_rows(folder, int(path.stem))
    for seed, of_methods in rows.items():
        for name, shares in near_best(of_methods).items():
            found[name][seed]["near_best"] = shares
    if not found:
        return {**earlier, "methods": {}}
    return {
        "targets": len(data.space),
        "unit": data.unit,
        "return_range": list(data.return_range),
        "methods": found,
    }


def near_best(
    rows: Mapping[str, Mapping[str, Floats]], near: float = NEAR
) -> dict[str, dict[str, float]]:
    """Return, for each method and mark, the share of targets near the best known return.

    Args:
        rows: For each method and mark the (N,) shares of the range of returns, of one seed.
        near: Tolerance below the best of all of them, as a share of that range.
    """
    best = np.max([row for of_method in rows.values() for row in of_method.values()], axis=0)
    return {
        name: {mark: float((row >= best - near).mean()) for mark, row in of_method.items()}
        for name, of_method in rows.items()
    }
