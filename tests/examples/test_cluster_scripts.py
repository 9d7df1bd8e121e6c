"""Scripts for SLURM, ssh and Ray, with small stand-ins for the programs of a cluster."""

import signal
import time

import pytest

from sdmbtl.studies import Study
from sdmbtl.studies.doctor import examine


@pytest.fixture
def study(workshop):
    return Study.open(workshop.study, space=workshop.folder / "carts.toml")


def submit(workshop, task, **variables):
    return workshop.start(
        "slurm/job.sh",
        workshop.study,
        SLURM_ARRAY_JOB_ID="9",
        SLURM_ARRAY_TASK_ID=str(task),
        **variables,
    )


def end(job):
    out, error = job.communicate(timeout=120)
    assert job.returncode == 0, (out, error)


def finished(study):
    study.refresh()
    return [t.id for t in study.trials if t.status == "finished"]


def test_slurm_trains_one_policy_for_each_task(workshop, study):
    workshop.put("srun", '"$@"')
    for task in (1, 2):
        end(submit(workshop, task))
    assert finished(study) == [0, 1]
    assert workshop.called("srun") == ["srun python train_cart.py"] * 2
    assert examine(study.path).healthy


def test_slurm_is_asked_for_more_time_and_continues_with_the_same_policy(workshop, study):
    workshop.put("srun", 'echo > began; exec "$@"')
    workshop.put("scontrol", "")
    job = submit(workshop, 7, TRAIN="sleep 600")
    while not (workshop.folder / "began").exists():
        assert job.poll() is None, job.communicate()
        time.sleep(0.02)
    job.send_signal(signal.SIGUSR1)
    end(job)
    assert workshop.called("scontrol") == ["scontrol requeue 9_7"]
    asked = workshop.job(7)
    assert study.ask(lease=60.0).id != asked["id"], "its lease holds until it is started again"
    end(submit(workshop, 7))
    assert workshop.job(7) == asked
    assert finished(study) == [asked["id"]]


@pytest.mark.slow
def test_a_policy_that_was_given_to_another_task_is_not_continued(workshop, study):
    workshop.put("srun", '"$@"')
    lost = study.ask(lease=0.0)
    folder = workshop.folder / "jobs" / "9-3"
    folder.mkdir(parents=True)
    (folder / "job.json").write_text(f'{{"id": {lost.id}, "lease": {study.lease_of(lost)}}}')
    assert study.ask(lease=3600.0).id == lost.id, "somebody else has it now"
    end(submit(workshop, 3))
    assert workshop.job(3)["id"] == 1
    assert finished(study) == [1]


def test_a_failed_training_run_is_told(workshop, study):
    workshop.put("srun", "exit 3")
    end(submit(workshop, 1))
    study.refresh()
    assert [t.status for t in study.trials] == ["failed"]


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
