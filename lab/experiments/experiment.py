"""Result files, their provenance, and Markdown tables: shared by all experiments."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from sdmbtl.files import write_atomically
from sdmbtl.json_data import as_json
from sdmbtl.machine import CORE, SINGLE_THREADED, TRAINING, environment_variables, versions
from sdmbtl_lab.fingerprint import code_fingerprint

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "results"
FIGURES = ROOT / "docs" / "figures"
#: Digits after the decimal point that result files keep.
DIGITS = 6
#: Modules that the outcome of a study depends on.
STUDY_CODE = (
    *("sdmbtl.contexts", "sdmbtl.transfer", "sdmbtl.selectors", "sdmbtl.environments"),
    *("sdmbtl.policies", "sdmbtl.training", "sdmbtl.studies"),
)


def read_result(name: str, path: Path | None = None) -> dict[str, Any]:
    """Read `results/NAME.json`, or another file; empty if it does not exist."""
    path = path or RESULTS / f"{name}.json"
    content: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return content


def save_result(
    name: str, content: dict[str, Any], path: Path | None = None, code: Sequence[str] = ()
) -> None:
    """Write `results/NAME.json`, or another file, atomically and with its provenance.

    Args:
        name: Name of the result.
        content: JSON data.
        path: The file, if it is another one.
        code: Modules that made the numbers: their fingerprint is kept.
    """
    path = path or RESULTS / f"{name}.json"
    script = Path(sys.argv[0]).name
    made_by: dict[str, Any] = {"command": f"python lab/experiments/{script}"}
    made_by["versions"] = versions((*CORE, *TRAINING))
    if code:
        made_by["code"] = code_fingerprint(*code)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(as_json({**content, **made_by}, DIGITS), indent=1)
    write_atomically(path, f"{text}\n".encode())
    print(f"Written to {path}", flush=True)


def markdown_table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], labels: int = 1, right: str = "---:"
) -> str:
    """Format a Markdown table."""
    marks = ["---"] * labels + [right] * (len(heads) - labels)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (heads, marks, *rows))


def mean_and_interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and the half width of its 95 % interval, by Student's t; NaN for one."""
    if len(values) < 2:
        return float(np.mean(values)), float("nan")
    width = scipy.stats.t.ppf(0.975, len(values) - 1) * scipy.stats.sem(values)
    return float(np.mean(values)), float(width)


def run_child(arguments: Sequence[str]) -> Any:
    """Run Python with one thread of linear algebra and return the JSON that it prints.

    Args:
        arguments: Script and its arguments.

    Raises:
        subprocess.CalledProcessError: If it fails.
    """
    with environment_variables(SINGLE_THREADED):
        finished = subprocess.run(  # noqa: S603 (this interpreter, our own scripts)
            [sys.executable, *arguments], capture_output=True, text=True, check=True
        )
    return json.loads(finished.stdout)


def peak_mib() -> float:
    """Return the peak memory of this process in MiB; on Linux."""
    # getrusage would count the parent's memory up to the fork.
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(dict(line.split(":", 1) for line in lines)["VmHWM"].split()[0]) / 1024
