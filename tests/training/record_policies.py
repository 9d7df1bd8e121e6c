"""Writes recorded_policies.json: hashes of the outcomes of training runs, studies and matrices.

Run it only when a change of the outcomes is meant, and say so in the changelog:

    python tests/training/record_policies.py

With names of outcomes it makes only these and prints them.

The same software on the same kind of processor gives the same bytes. Another one rounds otherwise,
and training makes much of little: then only the mean return can be compared, and only loosely. So
the record has both, and a fingerprint of the machine that says which of them to compare.
"""

import hashlib
import json
import platform
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import torch

from sdmbtl import ContextSpace
from sdmbtl.environments import make_family
from sdmbtl.policies import load_policy, policy_bytes
from sdmbtl.studies import Study
from sdmbtl.training import TrainingJob, make_trainer
from sdmbtl_lab.matrices.matrix_factory import MatrixFactory, MatrixRecipe

PATH = Path(__file__).with_name("recorded_policies.json")
PACKAGES = ("jax", "jaxlib", "optax", "torch", "numpy", "stable-baselines3", "gymnasium")
#: Contexts that differ enough for policies to differ, and are not too hard for short training.
SPACES = {
    "CartPole": ContextSpace(length=[0.3, 0.9], masspole=[0.05, 0.5]),
    "Pendulum": ContextSpace(mass=[0.5, 1.5], length=[0.7, 1.3]),
}
# Most of the time goes into compiling, so outcomes share numbers of policies and of steps.
PPO = {"total_timesteps": 4096, "update_epochs": 2, "eval_every": 1, "eval_episodes": 2, "chunk": 3}
MULTI_TASK = {**PPO, "total_timesteps": 8192, "sees_context": True}
PENDULUM = {**PPO, "hidden_sizes": [16]}
SB3 = {
    "total_timesteps": 2048,
    "num_envs": 2,
    "eval_every": 1024,
    "eval_episodes": 2,
    "num_steps": 128,
    "minibatch_size": 64,
    "update_epochs": 2,
}


def fingerprint():
    """What the bytes depend on: processor, software, and how both round."""
    numbers = np.random.default_rng(0).normal(size=(48, 48)).astype(np.float32) / 7
    by_jax = jax.jit(lambda x: jax.lax.fori_loop(0, 9, lambda _, y: jnp.tanh(y @ x + x), x))
    by_torch = torch.tensor(numbers)
    for _ in range(9):
        by_torch = torch.tanh(by_torch @ torch.tensor(numbers) + torch.tensor(numbers))
    # XLA compiles for what the processor can do, which rounds otherwise in longer programs only.
    about = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    flags = next((line for line in about.splitlines() if line.startswith("flags")), "")
    return {
        "machine": platform.machine(),
        "processor": sha(flags.encode()),
        **{package: version(package) for package in PACKAGES},
        "jax rounds": sha(np.asarray(by_jax(numbers)).tobytes()),
        "torch rounds": sha(by_torch.numpy().tobytes()),
    }


def trained(name, environment, sources, *, sees_context=False, **options):
    """Policies trained on some targets each, and their returns on all."""
    space = SPACES[environment]
    trainer = make_trainer(name, make_family(environment, space=space), space, **options)
    jobs = [
        TrainingJob(space.targets[list(targets)], seed=3 + number, sees_context=sees_context)
        for number, targets in enumerate(sources)
    ]
    runs = trainer.train(jobs)
    return outcome(
        [t.policy for t in runs],
        [trainer.evaluate(t.policy, space.targets, episodes=3, seed=9).complete() for t in runs],
        steps=[int(t.steps) for t in runs],
        curves=[[float(value) for _, value in t.curve] for t in runs],
        source_returns=[float(t.source_return) for t in runs],
    )


def studied(batch):
    """Three policies of a study: the contexts it chose, the weights in its files, all returns."""
    with tempfile.TemporaryDirectory() as place:
        study = Study.open(
            Path(place) / "study",
            "CartPole",
            space=SPACES["CartPole"],
            trainer_options=PPO,
            selector="predictive",
            seed=3,
            episodes=2,
            batch=batch,
        )
        study.run(budget=3)
        policies = [load_policy(study.files.path(number)) for number in range(3)]
        contexts = [dict(member.context) for member in study.portfolio()]
        return outcome(policies, study.returns, contexts=contexts)


def matrix():
    """A matrix of four targets and a multi-task policy."""
    space = SPACES["CartPole"]
    trainer = make_trainer("ppo", make_family("CartPole", space=space), space, **PPO)
    recipe = MatrixRecipe.of(trainer, episodes=2, seed=3, multi_task=(2,))
    with tempfile.TemporaryDirectory() as place:
        made = MatrixFactory(Path(place) / "matrix", recipe).make(1)
    arrays = made.returns, made.source_returns, made.episode_variance, made.multi_task[2]
    return {**outcome([], arrays), "mean": float(made.returns.mean())}


def outcome(policies, returns, **facts):
    """Hashes of policies, as they act, and of arrays of returns, and the mean of the latter."""
    arrays = [np.ascontiguousarray(array, dtype=np.float64) for array in returns]
    return {
        **facts,
        "policies": [sha(policy_bytes(policy.acting())) for policy in policies],
        "returns": [sha(array.tobytes()) for array in arrays],
        "mean": float(np.mean([array.mean() for array in arrays])),
    }


def sha(content):
    """The SHA-256 of bytes."""
    return hashlib.sha256(content).hexdigest()


#: Name -> what makes the outcome.
OUTCOMES = {
    "ppo, CartPole, alone": lambda: trained("ppo", "CartPole", [(0,)], **PPO),
    "ppo, CartPole, chunk of 3": lambda: trained("ppo", "CartPole", [(0,), (1,), (3,)], **PPO),
    "ppo, CartPole, four contexts, observed": lambda: trained(
        "ppo", "CartPole", [range(4)], **MULTI_TASK
    ),
    "ppo, Pendulum, alone": lambda: trained("ppo", "Pendulum", [(0,)], **PENDULUM),
    "ppo, Pendulum, chunk of 3": lambda: trained("ppo", "Pendulum", [(0,), (1,), (3,)], **PENDULUM),
    "sb3, CartPole, two policies": lambda: trained("sb3", "CartPole", [(0,), (3,)], **SB3),
    "study, batch 1": lambda: studied(batch=1),
    "study, batch 2": lambda: studied(batch=2),
    "matrix": matrix,
}


def record(names):
    """The fingerprint of this machine, and the outcomes of these names."""
    return {"machine": fingerprint(), "outcomes": {name: OUTCOMES[name]() for name in names}}


if __name__ == "__main__":
    if names := sys.argv[1:]:
        print(json.dumps(record(names)))
    else:
        PATH.write_text(json.dumps(record(OUTCOMES), indent=1) + "\n")
