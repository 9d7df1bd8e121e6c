"""Scripts for ssh and Ray, with small stand-ins for the programs of a cluster."""

import pytest

from sdmbtl.studies import Study


@pytest.fixture
def study(workshop):
    return Study.open(workshop.study, space=workshop.folder / "carts.toml")


def finished(study):
    study.refresh()
    return [t.id for t in study.trials if t.status == "finished"]


@pytest.mark.slow
def test_ssh_trains_on_every_machine(workshop):
    workshop.put("ssh", 'shift; eval "$@"')
    how = {"EACH": "1", "TRAIN": "python train_cart.py"}
    workshop.run("ssh/run.sh", workshop.study, "alpha", "beta", **how)
    calls = [f"ssh {host} python train_cart.py" for host in ("alpha", "beta")]
    assert sorted(workshop.called("ssh")) == calls
    assert finished(Study.open(workshop.study)) == [0, 1]


@pytest.mark.slow
def test_what_a_lost_machine_had_is_trained_by_others(workshop, study):
    workshop.put("ssh", '[ "$1" = alpha ] && exit 255; shift; eval "$@"')
    how = {"EACH": "1", "TRAIN": "python train_cart.py", "LEASE": "0s"}
    _, error = workshop.run("ssh/run.sh", study.path, "alpha", **how)
    assert "alpha is lost" in error
    assert len(study.store.leases()) == 1
    workshop.run("ssh/run.sh", study.path, "beta", **how)
    assert finished(study) == [0]


def test_ray_is_started_used_and_stopped(workshop):
    workshop.put("ray", "")
    workshop.put("ssh", 'shift; eval "$@"')
    workshop.put("hostname", "echo here")
    workshop.put("sdmbtl", "exit ${FAILS:-0}")
    workshop.run("ray/run.sh", "runs/it", "beta", JOBS="8")
    assert workshop.called("ray") == [
        "ray start --head --port=6379",
        "ray start --address=here:6379",
        "ray stop",
        "ray stop",
    ]
    (command,) = workshop.called("sdmbtl")
    assert (
        "--out runs/it --budget 12 --executor ray --executor-option address=auto --jobs 8"
        in command
    )
    failed = workshop.start("ray/run.sh", "runs/it", FAILS="1")
    failed.communicate(timeout=60)
    assert failed.returncode == 1
    assert workshop.called("ray")[-1] == "ray stop", "also after an error"
