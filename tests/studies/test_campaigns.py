"""Kills, torn writes, full disks and many processes at once: nothing is lost."""

import json

import pytest


@pytest.mark.parametrize("harms", [24, pytest.param(1000, marks=pytest.mark.slow)])
def test_harmed_again_and_again(harms, tmp_path, run_script):
    done = run_script("killing_spree.py", tmp_path, harms, 1, timeout=3600)
    assert done.returncode == 0, done.stderr
    counts = json.loads(done.stdout)
    print(counts)
    assert (counts["lost"], counts["different"]) == (0, 0)
    assert sum(counts.get(kind, 0) for kind in ("kill", "late", "torn", "full")) == harms


@pytest.mark.parametrize(
    ("processes", "pairs"), [(4, 24), pytest.param(16, 400, marks=pytest.mark.slow)]
)
def test_many_processes_ask_and_tell(processes, pairs, tmp_path, run_script):
    done = run_script("busy_workers.py", tmp_path, processes, pairs, 1, timeout=3600)
    assert done.returncode == 0, done.stderr
    counts = json.loads(done.stdout)
    print(counts)
    assert counts["told"] == counts["recorded"] == pairs
    for name in ("told twice", "lost", "refused", "contexts chosen twice"):
        assert counts[name] == 0, name
    assert counts["asked and killed"] <= counts["killed"]
