"""Where a training run on the host is, as a value that can be kept in a file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sdmbtl.policies import MlpPolicy, policy_bytes
from sdmbtl.policies.base import policy_from_bytes
from sdmbtl.training.checkpoint import Snapshot
from sdmbtl.training.ppo.host_learner import LearnerState
from sdmbtl.training.ppo.lanes import LaneState
from sdmbtl.training.ppo.networks import arrays_of, from_arrays

#: Names of the arrays of a snapshot.
_LEARNER, _LANE, _BEST = "learner", "lane", "best"


@dataclass
class HostTrainState:
    """Everything a training run needs to continue.

    Attributes:
        learner: What is learned.
        lanes: Where each environment is.
        iteration: Number of the iterations that are done.
        best: The best policy so far.
        best_return: Its mean return on the training contexts.
        curve: (steps, mean return on the training contexts) so far.
        reported: How many entries of the curve this process has reported.
    """

    learner: LearnerState
    lanes: Sequence[LaneState]
    iteration: int = 0
    best: MlpPolicy | None = None
    best_return: float = -math.inf
    curve: list[tuple[int, float]] = field(default_factory=list)
    reported: int = 0

    def take_snapshot(self, lanes: Sequence[LaneState]) -> Snapshot:
        """The state as data, with the environments where they are now.

        An environment is kept as its episode and the actions since the reset: no simulator needs
        to be able to save itself, if the same actions give the same again.
        """
        arrays = arrays_of(self.learner, _LEARNER)
        arrays |= {f"{_LANE}-{n}": np.array(lane.actions) for n, lane in enumerate(lanes)}
        if self.best is not None:
            arrays[_BEST] = np.frombuffer(policy_bytes(self.best), dtype=np.uint8)
        data = {
            "iteration": self.iteration,
            "best_return": self.best_return,
            "curve": self.curve,
            "episodes": [lane.episode for lane in lanes],
        }
        return Snapshot(data, arrays)

    def restore(self, saved: Snapshot) -> None:
        """Be where a snapshot was taken, of a run with the same settings."""
        data, arrays = saved
        self.learner = from_arrays(self.learner, _LEARNER, arrays)
        self.lanes = [
            LaneState(episode, list(arrays[f"{_LANE}-{n}"]))
            for n, episode in enumerate(data["episodes"])
        ]
        self.iteration, self.best_return = data["iteration"], data["best_return"]
        self.curve = [(steps, value) for steps, value in data["curve"]]
        if _BEST in arrays:
            best = policy_from_bytes(arrays[_BEST].tobytes())
            self.best = best if isinstance(best, MlpPolicy) else None
