"""A study that trains for real and takes a second: few targets, short training."""

import hashlib
import json

from sdmbtl.environments import make_family
from sdmbtl.studies import Study

TRAINER = {"total_timesteps": 4096, "eval_every": 1, "update_epochs": 2, "eval_episodes": 2}


#: A study of points, each trained from scratch, as in the paper.
POINTS = {"selector": "predictive"}
#: One of a generalist and specialists.
REGIONS = {
    "selector": "generalist-first",
    "selector_options": {"width": 0.75},
    "region_contexts": 3,
}


def open_small(path, **changes):
    space = make_family("CartPole").space("wide", levels=2)
    settings = {"space": space, "seed": 3, "episodes": 2, "trainer_options": TRAINER}
    return Study.open(path, "CartPole", **{**settings, **POINTS, **changes})


def outcome(study):
    """All that must be the same however often a study was interrupted."""
    status = study.status()
    del status["timing"], status["path"], status["running_process"]
    for entry in status["rounds"]:
        entry.pop("seconds", None)
    files = sorted((study.path / "policies").glob("0*"))  # not what a kill has left
    return {
        "status": json.dumps(status),
        "returns": study.returns.tobytes(),
        "policies": [(f.name, hashlib.sha256(f.read_bytes()).hexdigest()) for f in files],
    }
