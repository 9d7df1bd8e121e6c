"""Runs a study in this process, or on an executor, as it is planned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sdmbtl.callbacks import Callback
from sdmbtl.parallel import Workers
from sdmbtl.studies.lease_holder import LeaseHolder
from sdmbtl.studies.loop import Loop
from sdmbtl.studies.parallel_loop import ParallelLoop
from sdmbtl.studies.parallel_plan import ParallelPlan
from sdmbtl.studies.random_actions import measure_random_actions
from sdmbtl.studies.stopping import StopRule

if TYPE_CHECKING:
    from sdmbtl.studies.study import Study


@dataclass(frozen=True)
class Runner:
    """One run of a study.

    Attributes:
        study: The study.
        tell: Called with every `Event`.
        workers: Processes that help with evaluations, if training is done here.
        plan: What is done at once, and where.
        checkpoint_seconds: Time between two checkpoints of a training run; None for none.
    """

    study: Study
    tell: Callback
    workers: Workers
    plan: ParallelPlan
    checkpoint_seconds: float | None

    def run(self, rules: Sequence[StopRule], budget: int | None, *, retrain_missing: bool) -> str:
        """Continue until a rule holds; returns why it stopped."""
        with LeaseHolder(self.study, self.plan.lease_seconds) as leases:
            here = Loop(
                self.study,
                self.tell,
                self.workers,
                leases,
                self.checkpoint_seconds,
                is_shared=self.plan.join,
            )
            if retrain_missing:
                here.retrain_missing()
            if self.plan.is_serial:
                measure_random_actions(self.study)
                return here.run(rules, budget)
            with self.plan.opened_executor(self.study) as executor:
                measure_random_actions(self.study, executor)
                options = (self.checkpoint_seconds, self.plan.worker_retries)
                loop = ParallelLoop(self.study, self.tell, executor, leases, *options)
                return loop.run(rules, budget)
