"""CPU time per round and peak memory of a selector, from 64 to 16384 targets, on one thread.

Each measurement runs in a process of its own, so that its peak memory is its own. Rows are made
when they are asked for: no matrix is held, the memory is that of the selector and of Python.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdmbtl.contexts import ContextSpace
from sdmbtl.errors import BenchmarkError
from sdmbtl.parallel import SINGLE_THREADED, environment_variables
from sdmbtl.selectors import make_selector
from sdmbtl_lab.benchmarks.effects import add_slopes
from sdmbtl_lab.benchmarks.synthetic import CONSTANT, RIGHT_SLOPE

#: Number of targets: values per dimension and number of dimensions.
SIZES = {64: (4, 3), 512: (8, 3), 3125: (5, 5), 16384: (4, 7)}
#: Standard deviation of the noise.
NOISE = 5.0


@dataclass(frozen=True)
class Measurement:
    """What is measured.

    Attributes:
        selector: Name of the selector.
        targets: N, one of `SIZES`.
        rounds: K, the number of rounds.
        mountain: Whether the matrix has the Mountain structure.
    """

    selector: str
    targets: int
    rounds: int
    mountain: bool

    def __post_init__(self) -> None:
        if self.targets not in SIZES:
            raise BenchmarkError(
                f"Cost is measured on {', '.join(map(str, SIZES))} targets. "
                f"Got {self.targets} instead."
            )

    def here(self) -> dict[str, Any]:
        """Measure in this process: CPU seconds of each round, and its peak memory."""
        warm_up(self.selector)
        seconds = round_seconds(self.selector, self.targets, self.rounds, mountain=self.mountain)
        return {"seconds": seconds, "peak_mib": peak_mib()}

    def in_own_process(self) -> dict[str, Any]:
        """Measure in a fresh process with one thread.

        Raises:
            BenchmarkError: If it fails, with the reason.
        """
        try:
            return json_of_child([__file__, json.dumps(asdict(self))])
        except subprocess.CalledProcessError as error:
            lines = error.stderr.strip().splitlines() or [f"exit status {error.returncode}"]
            raise BenchmarkError(
                f"The cost of {self.selector!r} on {self.targets} targets could not be measured: "
                f"{lines[-1].rstrip('.')}. Leave out this selector, or the part 'cost'."
            ) from error


def make_space(targets: int) -> ContextSpace:
    """The grid with a number of targets."""
    values, dimensions = SIZES[targets]
    return ContextSpace(**{f"c{d + 1}": range(values) for d in range(dimensions)})


def make_row(space: ContextSpace, index: int, mountain: bool) -> NDArray[np.float64]:
    """(N,) returns of one policy, as in the synthetic benchmark with noise 5."""
    right = [RIGHT_SLOPE] * space.n_dimensions
    left = [-RIGHT_SLOPE if mountain else 1.0] * (space.n_dimensions - 1) + [-RIGHT_SLOPE]
    row = np.full((1, len(space)), CONSTANT)
    add_slopes(row, space.targets[index, None], space.targets, left, right)
    return np.asarray(row[0] + NOISE * np.random.default_rng(index).standard_normal(len(space)))


def round_seconds(selector: str, targets: int, rounds: int, *, mountain: bool) -> list[float]:
    """CPU seconds of each round: an ask and its tell."""
    space = make_space(targets)
    chooser = make_selector(selector, space)
    times = []
    for _ in range(min(rounds, targets)):
        start = time.process_time()
        trial = chooser.ask()
        asked = time.process_time() - start
        row = make_row(space, space.nearest(trial.context), mountain)
        start = time.process_time()
        chooser.tell(trial, row)
        times.append(asked + time.process_time() - start)
    return times


def warm_up(selector: str) -> None:
    """Load the parts of SciPy that are loaded at first use."""
    round_seconds(selector, min(SIZES), 8, mountain=False)


def peak_mib() -> float:
    """Peak memory of this process in MiB."""
    status = Path("/proc/self/status")
    if status.exists():
        # What getrusage says counts the process that started this one, up to that moment.
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return int(lines["VmHWM"].split()[0]) / 1024
    import resource  # not on Windows, where the other benchmarks still run

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2  # bytes on macOS


def json_of_child(arguments: Sequence[str]) -> dict[str, Any]:
    """Run Python with one thread of linear algebra and read the JSON object that it prints.

    Args:
        arguments: What stands behind the name of the interpreter.

    Raises:
        subprocess.CalledProcessError: If it fails.
    """
    with environment_variables(SINGLE_THREADED):
        finished = subprocess.run(  # noqa: S603 (this interpreter, our own modules)
            [sys.executable, *arguments], capture_output=True, text=True, check=True
        )
    figures: dict[str, Any] = json.loads(finished.stdout)
    return figures


if __name__ == "__main__":
    print(json.dumps(Measurement(**json.loads(sys.argv[1])).here()))
