"""A study on a Ray cluster of two nodes: workers, drivers and a node are killed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from fault_parts.processes import Settings, outcome, start_driver, variables
from sdmbtl.studies import Study


class Harm:
    """A cluster, a driver, and what is done to them.

    Args:
        settings: What the row is told.
        path: The study.
    """

    def __init__(self, settings: Settings, path: Path) -> None:
        os.environ.update(variables(settings.work))  # which nodes and workers inherit
        from ray.cluster_utils import Cluster

        head = {"num_cpus": 1, "include_dashboard": False}
        self.cluster: Any = Cluster(initialize_head=True, head_node_args=head)
        self.node = self.cluster.add_node(num_cpus=1)
        self.settings, self.path = settings, path
        self.done = {"drivers": 0, "workers": 0, "nodes": 0}
        self.seen: dict[int, str] = {}

    def start(self) -> subprocess.Popen[str]:
        """A driver."""
        return start_driver(
            self.settings,
            self.path,
            self.settings.rounds,
            executor="ray",
            jobs=2,
            executor_options={"address": self.cluster.address},
            study={"targets": self.settings.rounds + 8, "seed": self.settings.seed},
        )

    def kill_worker(self, rng: np.random.Generator) -> None:
        """Kill one of the processes that do tasks."""
        raylets = {_raylet(node) for node in self.cluster.list_all_nodes()}
        titles = {p: _title(p) for p in _children(raylets)}  # agents of a node are not workers
        workers = [p for p, title in titles.items() if title.startswith(("ray::_do", "ray::IDLE"))]
        busy = [p for p in workers if titles[p].startswith("ray::_do")] or workers
        if busy:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(rng.choice(busy)), signal.SIGKILL)
                self.done["workers"] += 1

    def kill_node(self) -> None:
        """Kill a raylet with all that it has started; another node comes."""
        self.cluster.remove_node(self.node, allow_graceful=False)
        self.done["nodes"] += 1
        with contextlib.suppress(Exception):  # on a busy machine Ray gives up waiting for its node
            self.node = self.cluster.add_node(num_cpus=1)

    def kill_driver(self, driver: subprocess.Popen[str]) -> None:
        """Kill who runs the study."""
        driver.kill()
        self.done["drivers"] += 1

    def look(self) -> int:
        """Note what is finished; returns how many that noted before are no more, or changed."""
        if not (self.path / "study.db").exists():
            return 0
        study = Study.open(self.path, trust=True)
        now = {t.id: str(t.row) for t in study.trials if t.status == "finished"}
        lost = sum(now.get(number) != row for number, row in self.seen.items())
        self.seen = now
        return lost


def ray_row(settings: Settings) -> dict[str, Any]:
    """Every finished policy is kept, the budget is exact, no context is trained on twice."""
    begun, rng = time.monotonic(), np.random.default_rng(settings.seed)
    path = settings.work / "ray"
    harm = Harm(settings, path)
    lost, errors = 0, 0
    nodes_at = {settings.kills // 3, 2 * settings.kills // 3} - {0}
    try:
        while True:
            is_last = harm.done["drivers"] >= settings.kills
            # A life is so long that all of them together take about the whole study.
            life = settings.rounds if is_last else settings.rounds / (settings.kills + 1)
            events = max(int(rng.uniform(0.2, 1.8) * life * 3), 2)
            worker_at = int(rng.integers(events))
            if harm.done["drivers"] in nodes_at:
                nodes_at.discard(harm.done["drivers"])
                worker_at = -1
            driver = harm.start()
            if not _live(harm, driver, None if is_last else events, worker_at, rng):
                errors += driver.returncode not in (0, -signal.SIGKILL)
                lost += harm.look()
                if driver.returncode == 0 or errors > 3:
                    break
            else:
                lost += harm.look()
            print(len(harm.seen), "finished;", harm.done, flush=True)
    finally:
        harm.cluster.shutdown()
    found = outcome(path)
    given_up = found["failed"]
    numbers: dict[str, Any] = {
        **found,
        **harm.done,
        "driver_errors": errors,
        "finished_and_lost": lost,
    }
    numbers["workers_lost"] = _count_reasons(path)
    numbers |= {"rounds": settings.rounds, "seconds": round(time.monotonic() - begun, 1)}
    held = found["finished"] == settings.rounds and found["healthy"] and not found["twice"]
    return {
        "fault": f"Ray, two nodes: {harm.done['drivers']} drivers, {harm.done['workers']} workers "
        f"and {harm.done['nodes']} nodes killed in a study of {settings.rounds} policies",
        "held": bool(held and not lost and not errors),
        "ours": f"{found['finished']} policies, {lost} lost, {found['twice']} contexts twice, "
        f"{given_up} given up; doctor: {'healthy' if found['healthy'] else 'findings'}",
        "trained": "CartPole by random search, 10 linear policies of at most 30 steps each",
        "numbers": numbers,
    }


def _live(
    harm: Harm,
    driver: subprocess.Popen[str],
    events: int | None,
    worker_at: int,
    rng: np.random.Generator,
) -> bool:
    """Let a driver live for so many events, with a worker or a node killed; whether it was killed.

    Args:
        harm: Who does it.
        driver: The driver.
        events: After how many it is killed; None for never.
        worker_at: After how many a worker is killed; -1 for a node at the first one.
        rng: Which worker.
    """
    count = 0
    for line in driver.stdout or ():
        if not line.startswith(("asked", "trained", "finished")):  # Ray prints too
            continue
        count += 1
        if worker_at == -1 and count == 1:
            harm.kill_node()
        if count == worker_at + 1:
            harm.kill_worker(rng)
        if count == events:
            harm.kill_driver(driver)
            break
    driver.communicate()
    return driver.returncode == -signal.SIGKILL


def _count_reasons(path: Path) -> dict[str, int]:
    """Why workers were lost in training, as far as drivers lived to note it; how often."""
    runs = [t.run for t in Study.open(path, trust=True).trials if t.run is not None]
    return dict(Counter(reason.partition(":")[0] for run in runs for reason in run.lost))


def _raylet(node: Any) -> int:
    return int(node.all_processes["raylet"][0].process.pid)


def _children(parents: set[int]) -> list[int]:
    """Processes that were started by some others."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            if int((folder / "stat").read_text().rpartition(")")[2].split()[1]) in parents:
                found.append(int(folder.name))
    return found


def _title(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""
