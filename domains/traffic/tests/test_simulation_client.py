"""The process of a simulation: crashes, hangs and refusals are errors; it never outlives us."""

import importlib.util
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from sdmbtl.errors import MissingPackageError, SimulationError
from sdmbtl_traffic.crossing import Crossing
from sdmbtl_traffic.simulation import Rules
from sdmbtl_traffic.simulation_client import SimulationClient

pytest.importorskip("libsumo")

RULES = Rules(horizon=60.0, warm_up=10, max_vehicles=8, emission_class="HBEFA3/PC_G_EU4")
USUAL = asdict(Crossing(inflow=600.0))


@pytest.fixture
def client():
    made = SimulationClient(RULES)
    yield made
    made.close()


def play(client, seed=0):
    """The observations of an episode."""
    agents, is_over = client.reset([USUAL], [seed])
    seen = [agents.obs]
    while not is_over:
        _, agents, is_over = client.step(np.ones(len(agents.slots), np.float32))
        seen.append(agents.obs)
    return np.concatenate(seen)


def test_the_same_seed_is_the_same_episode_in_any_process(client):
    first = play(client)
    np.testing.assert_array_equal(play(client), first)
    client.close()
    np.testing.assert_array_equal(play(client), first)
    assert play(client, seed=1).shape != first.shape


def test_a_process_that_dies_is_an_error_and_the_next_reset_has_another(client):
    expected = play(client)
    client.reset([USUAL], [0])
    os.kill(client.pid, signal.SIGKILL)
    with pytest.raises(SimulationError, match=r"traffic simulation died \(exit status -9\)"):
        client.step(np.zeros(0, np.float32))
    with pytest.raises(SimulationError, match="call reset first"):
        client.step(np.zeros(0, np.float32))
    np.testing.assert_array_equal(play(client), expected)


def test_a_process_that_hangs_is_ended():
    client = SimulationClient(RULES, patience=0.5)
    client.patience = 60.0
    client.reset([USUAL], [0])
    client.patience, pid = 0.5, client.pid
    os.kill(pid, signal.SIGSTOP)
    with pytest.raises(SimulationError, match=r"did not answer for 0\.5 s and was ended"):
        client.step(np.zeros(0, np.float32))
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_what_sumo_refuses_is_said():
    client = SimulationClient(Rules(60.0, 10, 8, "no such class"))
    with pytest.raises(SimulationError, match="no such class"):
        client.reset([USUAL], [0])
    assert client.pid is None


def test_processes_are_replaced_now_and_then():
    client = SimulationClient(RULES, resets=2)
    pids = []
    for seed in range(5):
        client.reset([USUAL], [seed])
        pids.append(client.pid)
    client.close()
    assert pids[0] == pids[1] != pids[2] == pids[3] != pids[4]


def test_without_sumo_the_message_names_the_extra(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingPackageError, match=r"pip install libsumo"):
        SimulationClient(RULES)


def test_it_ends_with_the_process_that_started_it():
    script = (
        "import os; from sdmbtl_traffic.simulation_client import *; "
        f"c = SimulationClient({RULES!r}); c.reset([{{}}], [0]); "
        "print(c.pid, flush=True); os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    pid = int(done.stdout)
    until = time.monotonic() + 300
    while Path(f"/proc/{pid}").exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert not Path(f"/proc/{pid}").exists()
