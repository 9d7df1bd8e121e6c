"""Studies: choose a context, train on it, evaluate everywhere, choose again; durably."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdmbtl.checks import share_of_range, whole_number
from sdmbtl.contexts import ContextLike, ContextSpace
from sdmbtl.errors import DamagedStudyError, RowError, StudyError
from sdmbtl.policies import load_policy
from sdmbtl.portfolio import Member, Portfolio
from sdmbtl.seeds import derived_seed
from sdmbtl.selectors import Candidate, Selector, make_selector
from sdmbtl.studies.configuration import Configuration, configured, versions
from sdmbtl.studies.database import (
    StudyDatabase,
    TrialRecord,
    mean_over_episodes,
)
from sdmbtl.studies.events import Observer, unobserved
from sdmbtl.studies.lock import exclusive
from sdmbtl.studies.loop import Loop
from sdmbtl.studies.status import study_status
from sdmbtl.studies.stopping import Budget, NoGain, StopRule, TimeLimit

if TYPE_CHECKING:
    from sdmbtl.environments import EnvironmentFamily
    from sdmbtl.trainers import Trainer


class Study:
    """A directory with a database and policy files, and the loop that fills them.

    Make or resume one with `Study.open`.

    Args:
        path: The directory.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        #: Settings of the trainer as given now; those that change the outcome are recorded ones.
        self._passing_options: dict[str, Any] = {}
        self.database = StudyDatabase(path / "study.db")
        facts = self.database.facts()
        try:
            self.configuration = Configuration.from_dict(facts["configuration"])
        except (KeyError, TypeError) as error:
            raise DamagedStudyError(
                f"The configuration in {self.database.path} is damaged ({error}). "
                f"Run: sdmbtl doctor {path}"
            ) from None
        self.space = ContextSpace.from_dict(self.configuration.space)
        self.reload()

    @classmethod
    def open(
        cls,
        path: str | Path,
        env: str | EnvironmentFamily | None = None,
        *,
        space: str | Path | ContextSpace | None = None,
        selector: str = "auto",
        selector_options: Mapping[str, Any] | None = None,
        trainer: str = "auto",
        trainer_options: Mapping[str, Any] | None = None,
        seed: int = 0,
        episodes: int = 10,
        batch: int = 1,
        retries: int = 1,
    ) -> Self:
        """Make a study, or resume the one in this directory.

        Args:
            path: The directory; made if missing.
            env: Name of an environment family, "module:function", or a family. Without it and
                with a space, training is yours: `ask` and `tell`. Without both, the study in the
                directory is opened as it was made.
            space: The context space: a `ContextSpace`, the name of one of the family's spaces,
                or the path of a TOML file; the family's default one if left out.
            selector: Name of the selector.
            selector_options: Its settings.
            trainer: Name of the trainer.
            trainer_options: Its settings; what is left out is as the family recommends.
            seed: Root of every random number.
            episodes: Episodes for each policy on each target.
            batch: Policies that are chosen, and trained, at once.
            retries: How often a failed training is tried again, each time with another seed.

        Raises:
            ConfigurationError: If the directory has a study with another configuration.
            DamagedStudyError: If its files are damaged.
            StudyError: If there is no study and nothing to make one from.
        """
        path = Path(path)
        if env is None and space is None:
            if not _has_database(path):
                raise StudyError(
                    f"There is no study in {str(path)!r}. Make one with an environment: "
                    f"sdmbtl run CartPole --out {path}, or Study.open(path, 'CartPole'); or for "
                    f"training of your own: sdmbtl ask {path} --space FILE.toml."
                )
            return cls(path)
        known = cls._is_study(path)
        configuration = configured(
            env,
            space=space,
            selector=selector,
            selector_options=selector_options or {},
            trainer=trainer,
            trainer_options=trainer_options or {},
            seed=seed,
            episodes=episodes,
            batch=batch,
            retries=retries,
        )
        if not known:
            cls._create(path, configuration)
        study = cls(path)
        configuration.check_same(study.configuration, path)
        study._passing_options = dict(trainer_options or {})
        return study

    @classmethod
    def _is_study(cls, path: Path) -> bool:
        if _has_database(path):
            return True
        if path.exists() and (not path.is_dir() or not _is_as_good_as_empty(path)):
            raise StudyError(
                f"{str(path)!r} exists and is no study. Choose a new directory, or an empty one."
            )
        return False

    @classmethod
    def _create(cls, path: Path, configuration: Configuration) -> None:
        try:
            (path / "policies").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StudyError(
                f"Cannot make a study in {str(path)!r}: {error.strerror}. Choose another directory."
            ) from None
        with exclusive(path / "study.lock"):
            if cls._is_study(path):
                return  # another process was faster
            database = StudyDatabase(path / "study.db")
            database.create(
                {"configuration": configuration.to_dict(), "versions": versions(configuration)}
            )
            database.back_up()

    # -- what is known -------------------------------------------------------------------------

    def reload(self) -> None:
        """Take over what is recorded, for example by another process."""
        self.trials = self.database.check()
        options = self.configuration.selector
        self.selector: Selector = make_selector(
            options["name"], self.space, seed=self.configuration.seed, **options["options"]
        )
        state = self.selector.state_dict()
        self.selector.load_state_dict(
            {**state, "trials": [_selector_trial(t) for t in self.trials]}
        )

    @property
    def performance(self) -> float:
        """Mean over the targets of the best return so far; NaN before the first policy."""
        return self.selector.performance

    @property
    def returns(self) -> NDArray[np.float64]:
        """(k, N, E) returns of the finished policies on every target in every episode.

        NaN where a policy was told with fewer episodes, or not evaluated.
        """
        finished = [t.returns for t in self.trials if t.returns is not None]
        episodes = max((r.shape[1] for r in finished), default=self.configuration.episodes)
        returns = np.full((len(finished), len(self.space), episodes), np.nan)
        for each, given in zip(returns, finished, strict=True):
            each[:, : given.shape[1]] = given
        return returns

    @property
    def return_range(self) -> tuple[float, float] | None:
        """Lowest and highest return of an episode, if known."""
        known = self.configuration.return_range
        return None if known is None else (known[0], known[1])

    @property
    def return_span(self) -> float:
        """Width of the range of returns: the known one, otherwise of those seen; 0 if none is."""
        if self.return_range is not None:
            return self.return_range[1] - self.return_range[0]
        returns = self.selector.rows.returns
        seen = returns[np.isfinite(returns)]
        return float(np.ptp(seen)) if len(seen) else 0.0

    def share(self, value: float) -> float | None:
        """A return as a share of the range of returns; None if either is not known."""
        return share_of_range(value, self.return_range)

    def remaining_gain(self, policies: int = 3) -> float | None:
        """How much the mean best return is expected to rise by some more policies.

        It is what the selector expects, but no more than the known range of returns leaves.

        Args:
            policies: Number of further policies, pending ones not counted.

        Returns:
            The rise; None if the selector does not estimate it, or knows too little yet.
        """
        gain = self.selector.remaining_gain(policies)
        if gain is None or self.return_range is None:
            return gain
        return min(gain, max(self.return_range[1] - self.performance, 0.0))

    def status(self) -> dict[str, Any]:
        """Where the study stands, as JSON data: the rounds, the coverage, what is pending."""
        return study_status(self)

    def policy_path(self, number: int) -> Path:
        """File of the policy with this id."""
        return self.path / "policies" / f"{number:04d}.safetensors"

    @cached_property
    def family(self) -> EnvironmentFamily:
        """The environments."""
        from sdmbtl.environments import make_family

        settings = self.configuration.family_settings()
        if settings is None:
            raise StudyError(
                f"The study in {str(self.path)!r} has no environment: training is yours, with ask "
                "and tell. Make a study with an environment to have it trained."
            )
        return make_family(settings["name"], **settings["options"])

    @cached_property
    def trainer(self) -> Trainer:
        """The trainer."""
        from sdmbtl.trainers.registry import make_trainer, trainer_from_settings

        family = self.family
        recorded = self.configuration.trainer
        if recorded is None:
            return make_trainer("auto", family, self.space)
        settings = {**self._passing_options, **recorded["settings"]}
        return trainer_from_settings(recorded["name"], family, self.space, settings)

    # -- the loop ------------------------------------------------------------------------------

    def run(
        self,
        budget: int | None = None,
        *,
        time_limit: float | None = None,
        min_gain: float | None = None,
        patience: int = 3,
        rules: Iterable[StopRule] = (),
        observer: Observer | None = None,
    ) -> str:
        """Choose, train and evaluate until a stop rule holds.

        May be interrupted at any moment and called again, here or in another process: the same
        contexts are chosen and the same returns come out.

        Args:
            budget: Number of finished policies, those of earlier runs included.
            time_limit: Seconds for this run; a policy that would end later is not begun.
            min_gain: Stop when the next `patience` policies are expected to raise the mean best
                return by less than this share of the range of returns; with a selector that does
                not estimate that, when the last ones did. See `NoGain`.
            patience: See `min_gain`.
            rules: Further rules.
            observer: Called with every `Event`.

        Returns:
            Why it stopped, in words.

        Raises:
            StudyError: If several trainings in a row failed, or the disk is full.
        """
        stops: list[StopRule] = [*rules]
        if budget is not None:
            stops.append(Budget(budget))
        if time_limit is not None:
            stops.append(TimeLimit(time_limit))
        if min_gain is not None:
            stops.append(NoGain(min_gain, patience))
        if not stops:
            raise StudyError("A run needs a 'budget', a 'time_limit', a 'min_gain' or a rule.")
        _ = self.trainer  # a study that cannot train says so before anything is chosen
        with exclusive(self.path / "study.lock"):
            self.reload()
            if budget is not None and budget > self.database.facts().get("budget", 0):
                self.database.set_fact("budget", int(budget))
            return Loop(self, observer or unobserved).run(stops, budget)

    @property
    def pending(self) -> list[TrialRecord]:
        """Candidates that were asked and not told yet."""
        return [t for t in self.trials if t.status == "pending"]

    @property
    def n_finished(self) -> int:
        """Number of finished policies."""
        return sum(t.status == "finished" for t in self.trials)

    def policy_state(self, trial: TrialRecord) -> Literal["whole", "missing", "damaged"]:
        """What became of a policy's file."""
        try:
            content = self.policy_path(trial.id).read_bytes()
        except FileNotFoundError:
            return "missing"
        whole = hashlib.sha256(content).hexdigest() == trial.policy_sha256
        return "whole" if whole else "damaged"

    # -- ask and tell --------------------------------------------------------------------------

    def ask(self, n: int = 1) -> list[Candidate]:
        """Choose contexts to be trained elsewhere; they are pending until told."""
        with exclusive(self.path / "study.lock"):
            self.reload()
            candidates = self.selector.ask(n)
            self.record(*[TrialRecord.asked(c, self.space) for c in candidates])
            return candidates

    def tell(
        self,
        candidate: Candidate | int | ContextLike,
        returns: ArrayLike | None = None,
        *,
        status: Literal["finished", "failed", "cancelled"] = "finished",
        source_return: float | None = None,
        error: str | None = None,
    ) -> None:
        """Report what became of a candidate that was trained elsewhere.

        Args:
            candidate: The candidate, its id, or a context that was never asked.
            returns: (N,) mean return on every target, NaN where not evaluated, or (N, E) the
                return of each episode.
            status: "finished", "failed" or "cancelled".
            source_return: J(pi_x, x), for a source that is no target.
            error: What went wrong, for "failed".
        """
        with exclusive(self.path / "study.lock"):
            self.reload()
            array = None if returns is None else _episodes(returns)
            row = None if array is None else mean_over_episodes(array)
            self.selector.tell(candidate, row, status=status, source_return=source_return)
            number = candidate.id if isinstance(candidate, Candidate) else candidate
            if not isinstance(number, int | np.integer):  # a context, asked or new
                source = self.space.vector(number)
                number = self.selector.history.with_source(source)[-1].id
            told = self.selector.trials[int(number)]
            if told.id < len(self.trials):
                record = self.trials[told.id]
            else:
                record = TrialRecord(
                    id=told.id,
                    source=told.source.tolist(),
                    strategy=told.strategy,
                    structure=told.structure,
                    reason=told.reason,
                    numbers=told.numbers,
                )
            errors = [*record.errors, error] if error else record.errors
            self.record(
                record.updated(
                    status=status, returns=array, source_return=told.source_return, errors=errors
                )
            )
            self.database.back_up()

    def retry_failed(self) -> int:
        """Give contexts whose training failed back to the selector; returns how many."""
        with exclusive(self.path / "study.lock"):
            self.reload()
            failed = [t.updated(status="cancelled") for t in self.trials if t.status == "failed"]
            if failed:
                self.record(*failed)
                self.reload()
            return len(failed)

    # -- the result ----------------------------------------------------------------------------

    def portfolio(self) -> Portfolio:
        """The trained policies as one object.

        A policy whose file is missing or damaged is left out with a warning.

        Raises:
            StudyError: If there is none yet.
        """
        members = []
        for trial in self.trials:
            if trial.returns is None or trial.policy_sha256 is None:
                continue
            state = self.policy_state(trial)
            if state != "whole":
                warnings.warn(
                    f"The policy file {self.policy_path(trial.id)} is {state}; policy {trial.id} "
                    f"is left out. Run: sdmbtl doctor {self.path}",
                    stacklevel=2,
                )
                continue
            context = self.space.context(trial.source)
            policy = load_policy(self.policy_path(trial.id))
            members.append(Member(trial.id, context, policy, trial.returns))
        if not members:
            raise StudyError(
                f"The study in {str(self.path)!r} has no trained policies yet. "
                f"Go on with: sdmbtl resume {self.path}"
            )
        trainer = self.configuration.trainer or {"settings": {}}
        return Portfolio(
            self.space,
            members,
            family=self.configuration.family_settings(),
            observe_context=bool(trainer["settings"].get("observe_context", False)),
            return_range=self.return_range,
        )

    def evaluate(
        self,
        contexts: Iterable[Mapping[str, float]] | None = None,
        *,
        episodes: int | None = None,
        seed: int = 0,
    ) -> NDArray[np.float64]:
        """Play new episodes, each context with the policy that the portfolio chooses for it.

        The returns by which policies are chosen flatter them a little; these do not.

        Args:
            contexts: Any contexts; all targets if left out.
            episodes: Episodes on each; as in the study if left out.
            seed: Another seed gives other episodes.

        Returns:
            (n, episodes) returns.
        """
        listed = list(self.space) if contexts is None else list(contexts)
        if not listed:
            raise StudyError("There is nothing to evaluate: the list of contexts is empty.")
        seed = whole_number("seed", seed, low=0, error=StudyError)
        portfolio = self.portfolio()
        chosen = np.array([portfolio.choose(context).member for context in listed])
        count = self.configuration.episodes
        if episodes is not None:
            count = whole_number("episodes", episodes, low=1, error=StudyError)
        returns = np.empty((len(listed), count))
        for number in np.unique(chosen):
            rows = np.flatnonzero(chosen == number)
            returns[rows] = self.trainer.evaluate(
                portfolio[int(number)].policy,
                [listed[i] for i in rows],
                episodes=count,
                seed=derived_seed(self.configuration.seed, "fresh", seed, int(number)),
            )
        return returns

    # -- inside --------------------------------------------------------------------------------

    def record(self, *trials: TrialRecord) -> None:
        """Write trials to the database, then take them over."""
        self.database.write(*trials)
        for trial in trials:
            self.trials[trial.id : trial.id + 1] = [trial]

    def __repr__(self) -> str:
        return (
            f"Study({str(self.path)!r}: {self.n_finished} policies, {len(self.space)} targets, "
            f"mean best return {self.performance:.4g})"
        )


def _has_database(path: Path) -> bool:
    return (path / "study.db").exists() or (path / "study.backup.db").exists()


def _is_as_good_as_empty(path: Path) -> bool:
    """Whether a directory has nothing, or what the killed creation of a study may leave."""
    names = [p.name for p in path.iterdir() if not p.name.startswith(".study.")]
    policies = path / "policies"
    has_policies = policies.is_dir() and any(policies.iterdir())
    return set(names) <= {"policies", "study.lock"} and not has_policies


def _selector_trial(trial: TrialRecord) -> dict[str, Any]:
    """A trial as the selectors keep it."""
    keys = ("source", "status", "strategy", "structure", "reason", "numbers", "source_return")
    row = trial.row
    return {key: getattr(trial, key) for key in keys} | {
        "row": None if row is None else row.tolist()
    }


def _episodes(returns: ArrayLike) -> NDArray[np.float64]:
    """(N, E) returns from what was told: a row, or one row for each episode."""
    try:
        array = np.array(returns, dtype=np.float64)  # None becomes NaN
    except (TypeError, ValueError):
        raise RowError(
            "Returns must be numbers, one for each target, or a list of them for each target."
        ) from None
    return array if array.ndim == 2 else array.reshape(-1, 1)
