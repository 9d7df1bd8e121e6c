"""Distillation of a portfolio into one network, by DAgger.

The student acts, and the policy that serves the context labels the right action. The student
learns from everything that was played so far, and acts again: it meets the states that it comes
to itself. Half of the contexts are drawn where it loses most against the portfolio.

It stops when the steps are used, or it becomes no better. Its episodes measure it, too: nobody has
learned from them when they are played. So nothing is played for validation alone.
"""

from __future__ import annotations

import math
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
import scipy
from numpy.typing import NDArray

from sdmbtl.checks import check_int, known_name
from sdmbtl.environments.checks import check_spaces_are_constant
from sdmbtl.environments.contextual import close_quietly
from sdmbtl.environments.family import EnvironmentFamily
from sdmbtl.environments.flattening import FlatObservations
from sdmbtl.errors import PolicyError, PortfolioError, TrainingError
from sdmbtl.policies import MlpPolicy
from sdmbtl.policies.action_code import ActionCode
from sdmbtl.policies.distilled import DistilledPolicy
from sdmbtl.portfolio import Portfolio
from sdmbtl.portfolio.distillation.episodes import GymnasiumPlayer, JaxPlayer
from sdmbtl.portfolio.distillation.learner import LearnerState, Lesson, compile_learner
from sdmbtl.portfolio.distillation.network import Scaling, Student, StudentForm
from sdmbtl.portfolio.member import Actor, ContextPolicy
from sdmbtl.portfolio.network import CONTEXTS, Knowledge
from sdmbtl.seeds import episode_seed, seed_sequence
from sdmbtl.training.checkpoint import Checkpoint, Snapshot
from sdmbtl.training.job import Evaluation
from sdmbtl.training.ppo.networks import arrays_of, from_arrays, start_backend
from sdmbtl.training.progress import Progress, Report

#: Episodes that are played side by side at most, in an evaluation.
AT_ONCE = 256
#: Episodes of a round.
EPISODES = 16
#: Rounds whose episodes tell where the student loses most, and how good it is.
RECENT = 4
#: A student is worse than the best one so far if it is by this many standard errors.
STANDARD_ERRORS = 2.0
#: Rounds after which it must have become better than in as many before.
PATIENCE = 16


@dataclass(frozen=True)
class Distillation:
    """A finished distillation.

    Attributes:
        policy: The best student.
        steps: Environment steps that students played.
        curve: (steps, estimated mean return over the targets) of each round's student.
    """

    policy: DistilledPolicy
    steps: int
    curve: list[tuple[int, float]]


@dataclass
class DistillState:
    """Everything a distillation needs to continue.

    Attributes:
        learner: The student.
        scaling: Normalisation of its inputs.
        best: The latest student that was not worse than one before.
        least_shortfall: The smallest mean shortfall against the portfolio so far.
        lessons: Everything that was played and labelled.
        visits: For each round the (n, D) unit coordinates of its contexts.
        shortfalls: For each round by how much the student's (n,) returns fell short.
        curve: (steps, mean return) of each round's student.
    """

    learner: LearnerState
    scaling: Scaling
    best: Student
    least_shortfall: float = math.inf
    lessons: list[Lesson] = field(default_factory=list)
    visits: list[NDArray[np.float64]] = field(default_factory=list)
    shortfalls: list[NDArray[np.float64]] = field(default_factory=list)
    curve: list[tuple[int, float]] = field(default_factory=list)

    @property
    def steps(self) -> int:
        """Environment steps so far."""
        return sum(len(lesson.inputs) for lesson in self.lessons)

    def mean_shortfalls(self) -> NDArray[np.float64]:
        """(rounds, n) shortfalls in contexts drawn anywhere: others would bias the mean."""
        return np.array(self.shortfalls)[:, EPISODES // 2 :]

    def is_worse_than_before(self) -> bool:
        """Compare the last rounds with the best ones, and remember them if they are better."""
        lost = self.mean_shortfalls()[-RECENT:]
        error = float(lost.std() / np.sqrt(lost.size))
        worse = float(lost.mean()) > self.least_shortfall + STANDARD_ERRORS * error
        if len(lost) == RECENT:
            self.least_shortfall = min(self.least_shortfall, float(lost.mean()))
        return worse

    def has_stopped_rising(self) -> bool:
        """Return True if the last rounds were no better than those before."""
        if len(self.shortfalls) < 2 * PATIENCE:
            return False
        before, after = np.split(self.mean_shortfalls()[-2 * PATIENCE :].mean(axis=1), 2)
        return bool(after.mean() >= before.mean())

    def take_snapshot(self) -> Snapshot:
        """Return the state as data."""
        arrays = arrays_of((self.learner, self.scaling, self.best), "student")
        if self.lessons:
            arrays["lengths"] = np.array([len(lesson.inputs) for lesson in self.lessons])
            for name in Lesson._fields:
                arrays[name] = np.concatenate([getattr(each, name) for each in self.lessons])
            arrays["visits"] = np.stack(self.visits)
            arrays["shortfalls"] = np.stack(self.shortfalls)
        return Snapshot({"least_shortfall": self.least_shortfall, "curve": self.curve}, arrays)

    def restore(self, saved: Snapshot) -> None:
        """Go to where a snapshot was taken, of a distillation with the same settings."""
        data, arrays = saved
        form = (self.learner, self.scaling, self.best)
        self.learner, self.scaling, self.best = from_arrays(form, "student", arrays)
        self.least_shortfall = data["least_shortfall"]
        self.curve = [(steps, value) for steps, value in data["curve"]]
        if "lengths" in arrays:
            ends = np.cumsum(arrays["lengths"])[:-1]
            parts = [np.split(arrays[name], ends) for name in Lesson._fields]
            self.lessons = [Lesson(*pair) for pair in zip(*parts, strict=True)]
            self.visits, self.shortfalls = list(arrays["visits"]), list(arrays["shortfalls"])


class Distiller:
    """Makes one network of a portfolio.

    Args:
        portfolio: The teachers.
        family: The environments that they were trained in.
        context: "told": the student sees the context. "hidden": it sees observations and its own
            last actions only, and has a memory.
        seed: Root of every random number.
        max_episode_steps: Time limit of an episode, in addition to the environment's own.

    Raises:
        PortfolioError: If a policy was trained elsewhere, so that it cannot teach.
        FamilyError: If contexts differ in their spaces.
        PolicyError: If a network cannot use the spaces.
    """

    def __init__(
        self,
        portfolio: Portfolio,
        family: EnvironmentFamily,
        context: Knowledge = "told",
        *,
        seed: int = 0,
        max_episode_steps: int | None = None,
    ) -> None:
        known_name("context", context, CONTEXTS, error=PortfolioError)
        self.portfolio, self.space = portfolio, portfolio.space
        self.family, self.context = family, context
        self.seed = check_int("seed", seed, low=0, error=PortfolioError)
        for member in portfolio:
            portfolio.policy(member.id)  # refuses one that was trained elsewhere
        if family.make_vector_env() is not None:
            raise PortfolioError(
                f"The environments of {family.name!r} have several agents, which are stepped "
                "together. A portfolio can be distilled if each environment has one."
            )
        check_spaces_are_constant(family, self.space)
        env = family.make(self.space.middle())
        dimensions = self.space.dimensions if context == "told" else None
        actions = ActionCode(env.action_space)
        self.form = StudentForm(FlatObservations(env.observation_space), actions, dimensions)
        close_quietly(env)
        start_backend()
        functional = family.functional()
        self.player = (
            GymnasiumPlayer(family, self.space, self.form, max_episode_steps)
            if functional is None
            else JaxPlayer(functional, self.space, self.form, max_episode_steps)
        )
        self._learner = compile_learner(self.form.code.sizes, self.form.memory)

    def run(
        self, steps: int, progress: Progress | None = None, checkpoint: Checkpoint | None = None
    ) -> Distillation:
        """Play and learn until the steps are used.

        Args:
            steps: Environment steps; the last round may take a few more.
            progress: Called after each round.
            checkpoint: File from which a killed run continues, to the same student.
        """
        steps = check_int("steps", steps, low=1, error=PortfolioError)
        weights = self.form.begin(np.random.default_rng(seed_sequence(self.seed, "student")))
        scaling = Scaling(jnp.zeros(self.form.n_inputs), jnp.ones(self.form.n_inputs))
        state = DistillState(self._learner.start(weights), scaling, Student(weights, scaling))
        saved = None if checkpoint is None else checkpoint.load()
        if saved is not None:
            state.restore(saved)
            if progress is not None and state.curve:
                progress(self._report(state, steps, "continued"))
        elif progress is not None:
            progress(Report(0, steps, stage="compiling"))
        while state.steps < steps and not state.has_stopped_rising():
            self._play_round(state)
            with nullcontext() if checkpoint is None else checkpoint.kept(state.take_snapshot):
                if progress is not None:
                    progress(self._report(state, steps, "training"))
        # The last student was not played yet; if the one before was the best so far, it is better.
        last = Student(state.learner.average, state.scaling)
        policy = self.form.make_policy(state.best if state.is_worse_than_before() else last)
        return Distillation(policy, state.steps, state.curve)

    def evaluate(
        self, policy: DistilledPolicy, contexts: NDArray[np.float64], *, episodes: int, seed: int
    ) -> Evaluation:
        """Play a student on (n, D) contexts; see `Trainer.evaluate`."""
        repeated = np.repeat(contexts, episodes, axis=0)
        seeds = [episode_seed(seed, *divmod(k, episodes)) for k in range(len(repeated))]
        returns, steps = np.empty(len(repeated)), 0
        for first in range(0, len(repeated), AT_ONCE):
            some = slice(first, first + AT_ONCE)
            played = self.player.play(policy, repeated[some], seeds[some])
            returns[some] = [episode.total for episode in played]
            steps += sum(map(len, played))
        return Evaluation(returns.reshape(-1, episodes), steps=steps)

    def _play_round(self, state: DistillState) -> None:
        """Play a round of episodes, measure the student by them, and learn."""
        number = len(state.visits)
        rng = np.random.default_rng(seed_sequence(self.seed, "round", number))
        contexts = self._draw_contexts(state, rng)
        seeds = rng.integers(2**31, size=len(contexts)).tolist()
        student = Student(state.learner.average, state.scaling)
        episodes = self.player.play(self.form.make_policy(student), contexts, seeds)
        shortfalls = np.empty(len(contexts))
        for place, (vector, episode) in enumerate(zip(contexts, episodes, strict=True)):
            choice = self.portfolio.choose(vector)
            teacher = self.portfolio.actor(choice.policy, vector)
            labels = label(teacher, episode.observations, self.form.code)
            state.lessons.append(Lesson(episode.inputs, labels))
            shortfalls[place] = choice.expected_return - episode.total
        state.visits.append(self.space.to_unit(contexts))
        state.shortfalls.append(shortfalls)
        if not state.is_worse_than_before():
            state.best = student
        mean = self.portfolio.mean_return - float(state.mean_shortfalls()[-1].mean())
        state.curve.append((state.steps, mean))
        state.learner, state.scaling = self._learner.learn(state.learner, state.lessons, rng)
        weights = state.learner.average
        if not all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(weights)):
            raise TrainingError(f"The student's weights are not finite after {state.steps} steps.")

    def _draw_contexts(self, state: DistillState, rng: np.random.Generator) -> NDArray[np.float64]:
        """(n, D) contexts: half where the student loses most, half anywhere."""
        returns = None
        if state.visits:
            units, lost = (np.concatenate(x[-RECENT:]) for x in (state.visits, state.shortfalls))
            away = np.abs(self.space.unit_targets[:, None] - units[None]) @ self.space.steps
            nearness = np.exp(-(away - away.min(axis=1, keepdims=True)))
            returns = -(nearness @ lost) / nearness.sum(axis=1)
        return self.space.draw(self.space.whole(), EPISODES, rng, returns)

    def _report(
        self, state: DistillState, total: int, stage: Literal["continued", "training"]
    ) -> Report:
        new = state.curve if stage == "continued" else state.curve[-1:]
        return Report(state.steps, max(total, state.steps), state.curve[-1][1], stage, tuple(new))


def label(teacher: Actor, observations: Any, code: ActionCode) -> NDArray[np.float32]:
    """(T, K) codes of a teacher's actions for a batch of T observations.

    Of discrete actions they are the probabilities with which the teacher drew them in its training,
    if it knows them: these also weight the actions.
    """
    if isinstance(teacher, ContextPolicy) and teacher.policy.remembers:
        raise PolicyError("A policy with a memory cannot teach. Export the portfolio instead.")
    if code.sizes is not None:
        policy = teacher
        if isinstance(teacher, ContextPolicy):
            policy, observations = teacher.policy, teacher.observed(observations)
        if isinstance(policy, MlpPolicy):
            outputs = policy.outputs(observations)
            parts = np.split(outputs, np.cumsum(code.sizes)[:-1], axis=-1)
            return np.concatenate([scipy.special.softmax(part, axis=-1) for part in parts], axis=-1)
    return code(teacher.act(observations))
