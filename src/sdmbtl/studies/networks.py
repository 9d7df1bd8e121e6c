"""Single networks of a study, files in its directory: distilled ones, and the baseline."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sdmbtl.errors import PolicyError, StudyError, TrainingError
from sdmbtl.files import unsafe_path_reason
from sdmbtl.foreign import DAMAGED
from sdmbtl.policies import load_notes, save_policy
from sdmbtl.portfolio.network import CONTEXTS, Knowledge, NetworkRecord, read_record
from sdmbtl.seeds import derived_seed
from sdmbtl.studies.evaluation import evaluate_chosen
from sdmbtl.studies.loop import WHOLE_SPACE
from sdmbtl.transfer import mean_of, mean_over_episodes

if TYPE_CHECKING:
    from sdmbtl.studies.study import Study
    from sdmbtl.training import Progress

#: Environment steps of a distillation, as a share of those that trained the policies.
SHARE_OF_STEPS = 0.3
#: Episodes over all targets that each side of the comparison plays at least, if the study plays as
#: many on each target: a study of many targets needs few on each.
FEWEST_EPISODES = 512
#: Seconds between two checkpoints.
CHECKPOINT_SECONDS = 60.0


def _safe_paths(root: Path, folder: str) -> list[Path]:
    """Return the files of networks that are there, and no links or anything else."""
    paths = [root / folder / f"{context}.safetensors" for context in CONTEXTS]
    return [p for p in paths if p.exists() and unsafe_path_reason(p, root) is None]


def recorded_networks(root: Path) -> list[NetworkRecord]:
    """Read the records of a study's networks; a damaged file is left out."""
    paths = _safe_paths(root, "networks")
    return [record for path in paths if (record := read_record(path)) is not None]


def distill_study(
    study: Study,
    context: Knowledge,
    steps: int | None,
    out: str | Path | None,
    progress: Progress | None,
) -> Path:
    """Distil the portfolio of a study into one network, and return its file."""
    from sdmbtl.portfolio.distillation import Distiller, distill_to_file

    settings = (study.configuration.trainer or {"settings": {}})["settings"]
    distiller = Distiller(
        study.portfolio(),
        study.family,
        context,
        seed=study.configuration.seed,
        max_episode_steps=settings.get("max_episode_steps"),
    )
    path = Path(out or study.files.root / "networks") / f"{context}.safetensors"
    if steps is None:
        steps = max(int(SHARE_OF_STEPS * study.steps), 1)
    distill_to_file(path, distiller, steps, progress=progress)
    return path


@dataclass(frozen=True)
class Baseline:
    """One policy that was trained on random contexts, compared with the study in new episodes.

    Attributes:
        context: "told" if the policy sees the context, otherwise "hidden".
        steps: Environment steps of its training.
        study_steps: Steps of the study at that time, of training and evaluation.
        policies: Number of policies of the study at that time.
        mean_return: Its mean return over the targets.
        study_return: Mean return of the study's policies over the targets.
        standard_error: Standard error of the difference, over the targets.
        evaluation_steps: Environment steps of the comparison.
    """

    context: str
    steps: int
    study_steps: int
    policies: int
    mean_return: float
    study_return: float
    standard_error: float
    evaluation_steps: int


def recorded_baselines(root: Path) -> list[Baseline]:
    """Read the baselines of a study; one that is damaged or not compared yet is left out."""
    found = []
    for path in _safe_paths(root, "baselines"):
        with suppress(PolicyError, *DAMAGED):
            found.append(Baseline(**load_notes(path)))
    return found


def train_baseline(study: Study, context: Knowledge, progress: Progress | None) -> Baseline:
    """Train the baseline of a study, and compare the two; see `Study.baseline`."""
    from sdmbtl.training import Checkpoints, TrainingJob, delete_checkpoints, evaluate, train
    from sdmbtl.training.job import Failure

    if not study.n_finished:
        raise StudyError(
            f"The study in {str(study.path)!r} has no finished policy to compare with. Train some "
            f"first: sdmbtl resume {study.path} --budget 12."
        )
    training, space = study.training, study.space
    path, steps = study.files.root / "baselines" / f"{context}.safetensors", study.steps
    for known in recorded_baselines(study.files.root):
        if known.context == context and known.study_steps == steps:
            return known
    seed = derived_seed(study.configuration.seed, f"baseline {context}")
    number = WHOLE_SPACE * study.configuration.region_contexts
    contexts = space.draw(space.whole(), number, np.random.default_rng(seed))
    job = TrainingJob(contexts, seed, steps=steps, sees_context=context == "told")
    checkpoints = Checkpoints(path.parent, CHECKPOINT_SECONDS)
    trained = train(training, [job], progress, checkpoints)[0]
    if isinstance(trained, Failure):
        raise TrainingError(f"The training of the baseline failed: {trained.error}")
    episodes = min(study.configuration.episodes, -(-FEWEST_EPISODES // len(space)))
    own = evaluate(training, trained.policy, space.targets, episodes=episodes, seed=seed)
    ours = evaluate_chosen(study, None, episodes, seed, None)
    means, study_means = mean_over_episodes(own.returns), mean_over_episodes(ours.returns)
    differences = study_means - means  # NaN where an evaluation failed
    weights = np.where(np.isnan(differences), 0.0, 1.0)
    weights = weights if space.weights is None else weights * space.weights
    weights /= weights.sum()
    spread = np.nan_to_num(differences - mean_of(differences, weights))
    baseline = Baseline(
        context=context,
        steps=trained.steps,
        study_steps=steps,
        policies=study.n_finished,
        mean_return=mean_of(means, weights),
        study_return=mean_of(study_means, weights),
        standard_error=float(np.sqrt(np.sum((weights * spread) ** 2))),
        evaluation_steps=trained.evaluation_steps + own.steps + ours.steps,
    )
    path.parent.mkdir(exist_ok=True)
    save_policy(path, trained.policy, asdict(baseline))
    delete_checkpoints(training, [job], checkpoints)
    return baseline
