"""Training and evaluation that take no time, for what is about files and processes.

As in reality a policy depends on its seed and on those trained with it, returns on the policy.
"""

import numpy as np

from sdmbtl import ContextSpace
from sdmbtl.policies.mlp import MlpPolicy
from sdmbtl.selectors.trial import TrainingRun
from sdmbtl.studies import Study, study
from sdmbtl.training import Evaluation, Training, tasks
from sdmbtl.training.progress import Report


class QuickTraining:
    """In the place of a `TrainerSpec`: all jobs are trained together."""

    evaluates_on_host = False

    def make_trainer(self):
        return self

    def make_family(self):
        return None

    def to_dict(self):
        return {}

    def chunks(self, jobs):
        return [list(range(len(jobs)))]


def train(spec, jobs, progress=None, checkpoints=None):
    progress(Report(0, 64, stage="compiling"))
    return [train_one(job, [job.seed for job in jobs]) for job in jobs]


def train_one(job, together):
    rng = np.random.default_rng([job.seed, *together])
    weights = [rng.normal(size=(4, 64)), rng.normal(size=(64, 2))]
    policy = MlpPolicy(weights, [np.ones(64), np.ones(2)], np.zeros(4), np.ones(4))
    return Training(policy, 64, float(weights[0].mean()), [(64, 1.0)])


def evaluate(spec, policy, contexts, *, episodes, seed, **_):
    rng = np.random.default_rng([seed, policy.weights[0].view(np.uint32)[0, 0]])
    return Evaluation(rng.normal(size=(len(contexts), episodes)))


#: What is put in the place of what takes time.
STAND_INS = (
    (tasks, "train", train),
    (tasks, "evaluate", evaluate),
    (study, "measure_random_actions", lambda *_: None),
    (Study, "training", QuickTraining()),
)


def make_study(path, **options):
    """Make a study of many points, of which two at once are trained."""
    space = ContextSpace(length=np.linspace(0.1, 2.0, 64))
    chosen = {"selector": "random", "episodes": 2, "batch": 2, **options}
    return Study.open(path, "CartPole", space=space, **chosen)


def hand_over(study):
    """Have a study train what was asked for, as if a run of it had asked and was killed."""
    with study.write_lock():
        study.store.write(*(t.updated(run=TrainingRun()) for t in study.pending))


def run_quickly(path, budget=4, **options):
    """Run a study in which the stand-ins are; returns it."""
    study = Study.open(path)
    study.run(budget, progress=False, checkpoint_seconds=None, **options)
    return study
