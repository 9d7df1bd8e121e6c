"""All measurements in one file."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from generalists.contexts import Floats
from generalists.data_sets import MARKS, DataSet
from generalists.measuring import EPISODES, load_rows
from generalists.methods import METHODS, Method
from sdmbtl.fingerprint import code_fingerprint
from sdmbtl.software import CORE, TRAINING, versions

#: A target is served well within so much of the range of returns below the best known return.
NEAR = 0.05
#: All code that a study's outcome depends on.
STUDY_CODE = ("sdmbtl.studies", "sdmbtl.training", "sdmbtl.environments", "sdmbtl.selectors")


def current_code() -> str:
    """Fingerprint of the code that a study runs now."""
    return code_fingerprint(*STUDY_CODE)


def folder_of(work: Path, data: DataSet, method: Method, code: str) -> Path:
    """Where a method's measurements are; of what is being developed, those of one code."""
    folder = work / plain(data.name) / plain(method.name)
    return folder / code if method.keyed else folder


def plain(name: str) -> str:
    """A name for a file."""
    return "-".join(re.findall("[a-z0-9]+", name.lower()))


def collect(
    work: Path,
    data_sets: Sequence[DataSet],
    command: str,
    code: str,
    earlier: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Everything that was measured so far, as JSON data.

    Args:
        work: The work directory.
        data_sets: The data sets.
        command: What makes the result.
        code: Fingerprint of the code whose studies count. There is no way to fall back on
            another one: its numbers would pass for those of this code.
        earlier: A result whose work directory is gone: its measurements of a method count where
            there are no newer ones with as many seeds. What share of the targets is near the best
            of all methods is not known then.
    """
    measured = {data.name: _of_data_set(work, data, code) for data in data_sets}
    if earlier is not None:
        keep_earlier(measured, earlier, code)
    return {
        "command": command,
        "code": code,
        "marks": list(MARKS),
        "episodes": EPISODES,
        "near": NEAR,
        "versions": versions((*CORE, *TRAINING)),
        "data": {name: found for name, found in measured.items() if found["methods"]},
    }


def keep_earlier(
    measured: Mapping[str, dict[str, Any]], earlier: Mapping[str, Any], code: str
) -> None:
    """Add to what was measured the methods that only an earlier result has."""
    same_code = earlier["code"] == code
    for name, found in measured.items():
        before = earlier["data"].get(name, {}).get("methods", {})
        for method in METHODS:
            counts = method.name in before and (same_code or not method.keyed)
            if counts and len(before[method.name]) > len(found["methods"].get(method.name, {})):
                found["methods"][method.name] = before[method.name]
                for seeds in found["methods"].values():
                    for seed in seeds.values():
                        seed.pop("near_best", None)


def _of_data_set(work: Path, data: DataSet, code: str) -> dict[str, Any]:
    found: dict[str, dict[str, Any]] = {}
    rows: dict[str, dict[str, dict[str, Floats]]] = {}
    for method in METHODS:
        folder, name = folder_of(work, data, method, code), method.name
        for path in sorted(folder.glob("*.json"), key=lambda p: int(p.stem)):
            found.setdefault(name, {})[path.stem] = json.loads(path.read_text())
            rows.setdefault(path.stem, {})[name] = load_rows(folder, int(path.stem))
    for seed, of_methods in rows.items():
        for name, shares in near_best(of_methods).items():
            found[name][seed]["near_best"] = shares
    return {
        "targets": len(data.space),
        "unit": data.unit,
        "return_range": list(data.return_range),
        "methods": found,
    }


def near_best(
    rows: Mapping[str, Mapping[str, Floats]], near: float = NEAR
) -> dict[str, dict[str, float]]:
    """For each method and mark, the share of targets near the best known return there.

    Args:
        rows: For each method and mark the (N,) shares of the range of returns, of one seed.
        near: How far below the best of all of them, as a share of that range.
    """
    best = np.max([row for of_method in rows.values() for row in of_method.values()], axis=0)
    return {
        name: {mark: float((row >= best - near).mean()) for mark, row in of_method.items()}
        for name, of_method in rows.items()
    }
