"""Extension of a study: another space or objective, with the policies that are there.

One transaction rewrites everything that depends on the space: the configuration, sources, returns,
errors and random actions. Policy files stay as they are. A policy that sees its context gets the
coordinates of the space it was trained in: its inputs are adapted when its file is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sdmbtl.checks import did_you_mean
from sdmbtl.contexts import ContextSpace, Source
from sdmbtl.contexts.dimension import Categories, Dimension, Levels
from sdmbtl.contexts.toml import SpaceLike, read_space
from sdmbtl.errors import ContextError, StudyError
from sdmbtl.policies import MlpPolicy, Policy
from sdmbtl.selectors import Trial
from sdmbtl.selectors.trial import derived_fields
from sdmbtl.studies.configuration import Setup
from sdmbtl.studies.leases import LeaseKeeper
from sdmbtl.studies.random_actions import RANDOM_ACTIONS
from sdmbtl.studies.row_evaluation import episodes_behind
from sdmbtl.studies.stopping import STOPPED
from sdmbtl.wording import counted

if TYPE_CHECKING:
    from sdmbtl.studies.study import Study
    from sdmbtl.training import TrainerSpec

#: Names of the facts: the extensions so far, and the policies to be evaluated on new targets.
EXTENSIONS, TO_EVALUATE = "extensions", "to_evaluate"
#: Mean and variance of a coordinate that a policy has not seen: between 0 and 1.
_MEAN, _VARIANCE = 0.5, 1 / 12
#: Values of a dimension that are listed one by one when it is described.
MOST_LISTED = 8


@dataclass(frozen=True)
class SpaceChange:
    """Everything of one space, expressed in another that has the same dimensions and more.

    Attributes:
        old: The space before.
        new: The space after.
        defaults: For each new dimension the value that policies were trained with so far.

    Raises:
        StudyError: If a dimension or a category is missing, or a default.
    """

    old: ContextSpace
    new: ContextSpace
    defaults: Mapping[str, Any]

    def __post_init__(self) -> None:
        for name, dimension in self.old.dimensions.items():
            now = self.new.dimensions.get(name)
            if now is None:
                raise StudyError(
                    f"The new space has no dimension {name!r}, in which policies were trained. "
                    "Keep it, with one value if that is all you need."
                )
            kept = now.categories if isinstance(now, Categories) else None
            before = dimension.categories if isinstance(dimension, Categories) else None
            if (kept is None) != (before is None) or not set(before or ()) <= set(kept or ()):
                raise StudyError(
                    f"The categories of {name!r} must stay, and there may be more of them. "
                    f"Got {now!r} instead of {dimension!r}."
                )
        for name in self.defaults:
            if name not in self.added:
                hint = did_you_mean(name, self.added)
                raise StudyError(f"{name!r} is not a new dimension.{hint} Leave its default out.")
        for name in self.added:
            if name not in self.defaults:
                raise StudyError(
                    f"The value of {name!r} that policies were trained with so far is not known. "
                    f"Give it: --default {name}=VALUE, or defaults={{{name!r}: value}}."
                )

    @property
    def added(self) -> list[str]:
        """Names of the new dimensions."""
        return [name for name in self.new.names if name not in self.old.dimensions]

    def vector(self, vector: NDArray[np.float64]) -> NDArray[np.float64]:
        """(D,) context of the old space in the new one."""
        return self.new.vector({**self.old.context(vector), **self.defaults})

    @cached_property
    def origins(self) -> NDArray[np.intp]:
        """(N,) number of each new target among the old ones; -1 if it was none."""
        places = np.full(len(self.new), -1)
        for number, target in enumerate(self.old.targets):
            try:
                place = self.new.find(self.vector(target))
            except ContextError:  # a value that no longer exists
                continue
            if place is not None:
                places[place] = number
        return places

    def returns(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """(N, ...) values on the old targets as values on the new ones, NaN where unknown."""
        kept = values[self.origins]
        kept[self.origins < 0] = np.nan
        return kept

    def source(self, source: Source) -> Source:
        """The same contexts in the new space; all contexts stay all, as what comes next is."""
        if self.old.is_whole(source):
            return self.new.whole(source.parent, source.steps, source.sees_context)
        center = tuple(self.vector(source.vector).tolist())
        spans = [
            float(np.ptp(self.new.dimensions[name].to_unit([d.low, d.high])))
            for name, d in self.old.dimensions.items()
            if d.low < d.high and not isinstance(d, Categories)
        ]
        # A region has one width in all dimensions: the mean of what it has become.
        scale = float(np.mean(spans)) if spans else 1.0
        return replace(source, center=center, width=min(source.width * scale, 1.0))

    def trial(self, trial: Trial) -> Trial:
        """The trial in the new space.

        A policy that has no return left is pending, to be evaluated; what was still to be trained
        is given back to the selector.
        """
        try:
            source = self.source(trial.source)
        except ContextError as error:
            raise StudyError(
                f"Policy {trial.id} was trained on {self.old.describe(trial.source.where)}, which "
                f"is not in the new space: {error} Keep the values that policies were trained on."
            ) from None
        changes: dict[str, Any] = {"source": source, **derived_fields(source, self.new)}
        changes["earlier"] = tuple(replace(e, row=self.returns(e.row)) for e in trial.earlier)
        changes["episodes"] = None
        if trial.row is not None:
            changes["row"] = row = self.returns(trial.row)
            if trial.index is not None and changes["index"] is None and trial.source_return is None:
                own = float(trial.row[trial.index])
                changes["source_return"] = None if np.isnan(own) else own
            if np.isnan(row).all():
                if not trial.has_policy:
                    raise StudyError(
                        f"Policy {trial.id} was trained elsewhere and has no return on any target "
                        "of the new space. Keep some of the old targets."
                    )
                changes |= {"row": None, "status": "pending"}
        elif trial.status == "pending" and not trial.has_policy:
            changes["status"] = "cancelled"
        return trial.updated(**changes)

    @cached_property
    def columns(self) -> list[tuple[int, float, float]] | None:
        """For each new coordinate the old one, and its factor and offset; None if all are alike.

        An old coordinate is factor * new + offset; a number of -1 is for one that was not there.
        """
        first, starts = 0, {}
        for name, dimension in self.old.dimensions.items():
            starts[name], first = first, first + dimension.columns
        found: list[tuple[int, float, float]] = []
        for name, now in self.new.dimensions.items():
            before = self.old.dimensions.get(name)
            if before is None or before.low == before.high:
                found += [(-1, 1.0, 0.0)] * now.columns
            elif isinstance(before, Categories) and isinstance(now, Categories):
                known, start = before.categories, starts[name]
                places = [start + known.index(c) if c in known else -1 for c in now.categories]
                found += [(place, 1.0, 0.0) for place in places]
            else:
                inside = (now.knots >= before.low) & (now.knots <= before.high)
                values = np.union1d(before.knots, now.knots[inside])
                x, y = now.to_unit(values), before.to_unit(values)
                factor = float((y[-1] - y[0]) / (x[-1] - x[0])) if x[-1] > x[0] else 0.0
                offset = float(y[0] - factor * x[0])
                if not factor or np.abs(factor * x + offset - y).max() > 1e-9:
                    raise StudyError(
                        f"Policies that see their context cannot follow {name!r}: the old values "
                        "are not in the same proportions on its new scale. Keep the scale; on a "
                        "scale of steps, add values below or above the old ones only."
                    )
                found.append((starts[name], factor, offset))
        alike = [(place, 1.0, 0.0) for place in range(self.old.n_units)]
        return None if found == alike else found

    def policy(self, policy: Policy) -> Policy:
        """The policy on observations that end with the new coordinates, acting as before."""
        if not policy.sees_context or (columns := self.columns) is None:
            return policy
        if not isinstance(policy, MlpPolicy):
            raise StudyError(
                f"A policy of the kind {policy.kind!r} that sees its context cannot be given "
                "other coordinates. Keep the dimensions and their ends, or make a new study."
            )
        arrays, first = policy.arrays(), policy.observation_size - self.old.n_units
        normalised = policy.limit is not None
        shift = np.full(len(columns), _MEAN if normalised else 0.0)
        scale = np.full(len(columns), _VARIANCE**-0.5 if normalised else 1.0)
        places, factors, offsets = (np.array(column) for column in zip(*columns, strict=True))
        known = places >= 0
        before = first + places[known]
        shift[known] = (arrays["shift"][before] - offsets[known]) / factors[known]
        scale[known] = arrays["scale"][before] * factors[known]
        for name, added in {"shift": shift, "scale": scale}.items():
            arrays[name] = np.concatenate([arrays[name][:first], added]).astype(np.float32)
        for prefix in ("weight_", "critic_weight_"):
            names = [n for n in arrays if n.startswith(prefix) and arrays[n].ndim == 2]
            for name in names[:1]:  # the first layer
                kept, old = np.split(arrays[name], [len(arrays[name]) - self.old.n_units])
                rows = np.zeros((len(columns), old.shape[1]), np.float32)
                rows[known] = old[places[known]]
                arrays[name] = np.concatenate([kept, rows])
        return MlpPolicy.from_arrays(arrays, policy.description())

    def describe(self) -> list[str]:
        """List the differences in words."""
        old, new = self.old, self.new
        lines = [f"new dimension {name}, {self.defaults[name]} so far" for name in self.added]
        lines += [
            f"{name}: {_in_words(d)} before, {_in_words(new.dimensions[name])} now"
            for name, d in old.dimensions.items()
            if d.to_dict() != new.dimensions[name].to_dict()
        ]
        kept = int((self.origins >= 0).sum())
        if kept < max(len(old), len(new)):
            lines.append(
                f"{counted(len(new), 'target')} instead of {len(old)}, {kept} of them in both"
            )
        if old.weights is not None and new.weights is None:
            lines.append("equal weights of the targets")
        elif not np.array_equal(np.asarray(old.weights), np.asarray(new.weights)):
            lines.append("other weights of the targets")
        return lines


def _in_words(dimension: Dimension) -> str:
    """Describe a dimension, such as "5 to 15, 4 values, linear, in kg"."""
    if isinstance(dimension, Categories):
        return ", ".join(dimension.categories)
    parts = [f"{dimension.low:g} to {dimension.high:g}"]
    if isinstance(dimension, Levels):
        values = ", ".join(f"{value:g}" for value in dimension.values)
        is_short = len(dimension.values) <= MOST_LISTED
        parts = [values] if is_short else [*parts, f"{len(dimension.values)} values"]
        parts += ["discrete"] if dimension.discrete else []
    parts += [] if dimension.scale == "steps" else [dimension.scale]
    parts += [] if dimension.unit is None else [f"in {dimension.unit}"]
    return ", ".join(parts)


def extend_study(
    study: Study, space: SpaceLike | None, defaults: Mapping[str, Any], objective: str | None
) -> tuple[Setup, list[str]]:
    """Record another space or objective in one transaction; see `Study.extend`."""
    store, old = study.store, study.configuration
    with LeaseKeeper(store):
        study.refresh()
        training, targets, defaults = _training_for(study, space, defaults)
        change = SpaceChange(study.space, targets, defaults)
        lines = change.describe()
        changes: dict[str, Any] = {"space": targets.to_dict()}
        if training is not None:
            changes["family"] = training.environment
        options = {n: v for n, v in old.selector["options"].items() if n != "objective"}
        before = old.selector["options"].get("objective", "mean")
        if objective not in (None, before):
            lines.append(f"objective {objective} instead of {before}")
            aim = {} if objective == "mean" else {"objective": objective}
            changes["selector"] = {**old.selector, "options": {**options, **aim}}
        configuration = replace(old, **changes)
        if not lines:
            raise StudyError("Nothing changes: the study has this space and this objective.")
        asked = [t.id for t in study.pending if t.run is None]
        if asked:
            raise StudyError(
                f"Policy {asked[0]} was asked for and is not reported yet. Report it with sdmbtl "
                "tell, also as cancelled, and extend the study then."
            )
        setup = configuration.set_up()
        seen = [t for t in study.trained if t.source.sees_context]
        here = [t for t in seen if study.files.state(t) == "intact"]
        for trial in here:  # nothing is recorded if one of them cannot follow
            change.policy(study.files.load(trial.id))
        event = {
            "policies": study.n_finished,
            "changes": lines,
            "space": old.space,
            "defaults": dict(defaults),
            "files": [t.run.policy_sha256 for t in seen if t.run is not None],
        }
        with store.transaction():
            _rewrite(study, change)
            store.set_fact("configuration", asdict(configuration))
            store.set_fact(EXTENSIONS, [*store.facts().get(EXTENSIONS, []), event])
            store.set_fact(STOPPED, None)
    store.back_up(always=True)
    return setup._replace(training=training), lines


def _rewrite(study: Study, change: SpaceChange) -> None:
    """Write everything that depends on the space as it is in the new one, in a transaction."""
    store, facts = study.store, study.store.facts()
    played, errors = store.episodes(), store.errors()
    places = {int(old): new for new, old in enumerate(change.origins) if old >= 0}
    to_evaluate = []
    for before in study.trials:
        trial = change.trial(before)
        episodes = {}
        if trial.row is not None:
            returns = change.returns(played.get(trial.id, before.row[:, None]))  # type: ignore[index]
            episodes = {trial.id: returns}
            if trial.has_policy or returns.shape[1] > 1:
                trial = trial.updated(episodes=episodes_behind(returns))
            if trial.has_policy and np.isnan(returns).all(axis=1).any():
                to_evaluate.append(trial.id)
        failed = {places[n]: e for n, e in errors.get(trial.id, {}).items() if n in places}
        store.write(trial, episodes=episodes, errors={trial.id: failed})
    store.set_fact(TO_EVALUATE, to_evaluate if (change.origins < 0).any() else [])
    random = facts.get(RANDOM_ACTIONS, {})
    if "targets" in random:
        kept = [n for n, target in enumerate(random["targets"]) if target in places]
        targets = [places[random["targets"][n]] for n in kept]
        returns_kept = [random["returns"][n] for n in kept]
        store.set_fact(RANDOM_ACTIONS, {**random, "targets": targets, "returns": returns_kept})


def _training_for(
    study: Study, space: SpaceLike | None, defaults: Mapping[str, Any]
) -> tuple[TrainerSpec | None, ContextSpace, dict[str, Any]]:
    """Make the training and the targets in the new space, and complete the defaults."""
    spec = None if study.configuration.family is None else study.training
    if spec is None or space is None:
        return spec, study.space if space is None else read_space(space)[0], dict(defaults)
    from sdmbtl.environments import FactoryFamily, make_family
    from sdmbtl.training import TrainerSpec
    from sdmbtl.training.registry import trainer_from_settings

    family, made = study.family, spec.environment
    extended = family
    if made.get("importable", True):
        extended = make_family(made["name"], **{**made["options"], "space": space})
    elif isinstance(family, FactoryFamily):
        extended = FactoryFamily(family.factory, space, **made["options"])
    # A function that makes environments has no usual values: its defaults are our middle.
    is_function = isinstance(extended, FactoryFamily) and extended.functional() is None
    usual = {} if is_function else extended.defaults
    targets = read_space(space)[0] if extended is family else extended.space()
    added = [name for name in targets.names if name not in study.space.dimensions]
    known = {name: usual[name] for name in added if name in usual}
    trainer = trainer_from_settings(spec.trainer, extended, targets, spec.settings)
    trainer.check_environment()
    return TrainerSpec.of(trainer), targets, {**known, **defaults}


def adapted_files(facts: Mapping[str, Any], space: ContextSpace) -> dict[str, SpaceChange]:
    """Return, by the SHA-256 of their files, how policies of earlier spaces see this one."""
    found: dict[str, SpaceChange] = {}
    defaults: dict[str, Any] = {}
    for event in reversed(facts[EXTENSIONS]):
        defaults = {**defaults, **event["defaults"]}
        before = ContextSpace.from_dict(event["space"])
        change = SpaceChange(
            before, space, {n: defaults[n] for n in space.names if n not in before.dimensions}
        )
        found |= dict.fromkeys(event["files"], change)  # the first space of a policy comes last
    return found
