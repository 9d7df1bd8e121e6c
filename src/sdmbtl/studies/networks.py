"""Networks that were distilled from a study's portfolio: files in its directory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sdmbtl.files import unsafe_path_reason
from sdmbtl.portfolio.network import NetworkRecord, read_record

if TYPE_CHECKING:
    from sdmbtl.portfolio.distillation.network import Knowledge
    from sdmbtl.studies.study import Study
    from sdmbtl.training import Progress

#: Environment steps of a distillation, as a share of those that trained the policies.
SHARE_OF_STEPS = 0.3
#: What a network knows of its context, which is also the name of its file.
CONTEXTS = ("told", "hidden")


def network_path(folder: Path, context: str) -> Path:
    """Return the file of a network in a directory for networks."""
    return folder / f"{context}.safetensors"


def recorded_networks(root: Path) -> list[NetworkRecord]:
    """Read the records of a study's networks; a damaged file is left out."""
    if not (root / "networks").is_dir():
        return []
    paths = [network_path(root / "networks", context) for context in CONTEXTS]
    safe = [path for path in paths if unsafe_path_reason(path, root) is None]
    return [record for path in safe if (record := read_record(path)) is not None]


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
    path = network_path(Path(out or study.files.root / "networks"), context)
    if steps is None:
        steps = max(int(SHARE_OF_STEPS * study.steps), 1)
    distill_to_file(path, distiller, steps, progress=progress)
    return path
