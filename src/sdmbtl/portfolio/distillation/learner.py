"""Learning of a student from labelled episodes."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from numpy.typing import NDArray

from sdmbtl.policies.distilled import GatedUnit
from sdmbtl.portfolio.distillation.network import Scaling, Student, Weights, act_along, scaling_of

#: Steps of a student with a memory that are learned from at once: gradients reach back this far.
WINDOW = 64
#: Windows of a minibatch; of a student without a memory, whose windows are single steps.
BATCH, BATCH_OF_STEPS = 32, 512
#: Updates that are compiled as one function.
BLOCK = 64
#: Blocks after which the hidden numbers at the beginnings of windows are computed again.
REFRESH = 8
#: Updates of a round: this many passes over all steps, but
PASSES = 4
#: at least and at most this many.
FEWEST, MOST = 256, 2048
LEARNING_RATE = 1e-3
ADAM_EPSILON = 1e-5
#: Without it the student learns the few contexts that it has met by heart: on CartPole it then
#: loses two points of coverage by playing more.
WEIGHT_DECAY = 0.1
MAX_GRAD_NORM = 1.0
#: Share of the averaged weights that an update keeps.
AVERAGING = 0.995

Floats = NDArray[np.float32]


class LearnerState(NamedTuple):
    """Weights, their moving average, which acts, and the state of Adam."""

    weights: Weights
    average: Weights
    opt_state: optax.OptState


class Lesson(NamedTuple):
    """A labelled episode: (T, I) inputs and the (T, K) codes of the teacher's actions."""

    inputs: Floats
    labels: Floats


class Learner:
    """Makes a student act as its teachers do.

    Discrete actions are learned by cross-entropy, summed over the choices; numbers by squared
    error.
    """

    def __init__(self, sizes: tuple[int, ...] | None, memory: int) -> None:
        self._sizes, self._memory = sizes, memory
        self._batch = BATCH if memory else BATCH_OF_STEPS
        self._adam = optax.chain(
            optax.clip_by_global_norm(MAX_GRAD_NORM),
            optax.adamw(LEARNING_RATE, eps=ADAM_EPSILON, weight_decay=WEIGHT_DECAY),
        )
        self._update_block = jax.jit(self._updates)

    def start(self, weights: Weights) -> LearnerState:
        """Return the state of an untrained student."""
        return LearnerState(weights, weights, self._adam.init(weights))

    def learn(
        self, state: LearnerState, lessons: list[Lesson], rng: np.random.Generator
    ) -> tuple[LearnerState, Scaling]:
        """Learn from all lessons so far; returns the normalisation of the inputs, too."""
        scaling = scaling_of(np.concatenate([lesson.inputs for lesson in lessons]))
        longest = max(len(lesson.inputs) for lesson in lessons)
        # A power of two: functions are compiled for each length.
        window = min(WINDOW, 1 << (longest - 1).bit_length()) if self._memory else 1
        inputs = np.concatenate([_cut(lesson.inputs, window) for lesson in lessons])
        labels = np.concatenate([_cut(lesson.labels, window) for lesson in lessons])
        present = [np.ones(len(lesson.inputs), np.float32) for lesson in lessons]
        mask = np.concatenate([_cut(each, window) for each in present])
        updates = np.clip(PASSES * len(inputs) / self._batch, FEWEST, MOST)
        hidden = np.zeros((len(inputs), 0), np.float32)
        for block in range(-(-int(updates) // BLOCK)):
            if self._memory and block % REFRESH == 0:
                unit = GatedUnit(*map(np.asarray, (*scaling, *(state.weights.recurrent or ()))))
                hidden = _hidden_at_starts(unit, lessons, window)
            chosen = rng.integers(len(inputs), size=(BLOCK, self._batch))
            state = self._update_block(
                state, scaling, inputs[chosen], hidden[chosen], labels[chosen], mask[chosen]
            )
        return state, scaling

    def _updates(
        self,
        state: LearnerState,
        scaling: Scaling,
        inputs: jax.Array,
        hidden: jax.Array,
        labels: jax.Array,
        mask: jax.Array,
    ) -> LearnerState:
        """Make one update for each minibatch: (U, B, W, I) inputs and (U, B, H) hidden numbers."""

        def loss(weights: Weights, batch: tuple[jax.Array, ...]) -> jax.Array:
            inputs, hidden, labels, mask = batch
            outputs = act_along(Student(weights, scaling), inputs, hidden)
            each = self._losses(outputs, labels)
            return (each * mask).sum() / mask.sum()

        def update(state: LearnerState, batch: tuple[jax.Array, ...]) -> tuple[LearnerState, None]:
            gradient = jax.grad(loss)(state.weights, batch)
            change, opt_state = self._adam.update(gradient, state.opt_state, state.weights)
            weights = optax.apply_updates(state.weights, change)
            average = optax.incremental_update(weights, state.average, 1 - AVERAGING)
            return LearnerState(weights, average, opt_state), None

        return jax.lax.scan(update, state, (inputs, hidden, labels, mask))[0]

    def _losses(self, outputs: jax.Array, labels: jax.Array) -> jax.Array:
        """(..., ) losses of (..., K) outputs."""
        if self._sizes is None:
            return ((outputs - labels) ** 2).sum(axis=-1)
        ends = np.cumsum(self._sizes)[:-1].tolist()
        log_probs = [jax.nn.log_softmax(part) for part in jnp.split(outputs, ends, axis=-1)]
        return -(labels * jnp.concatenate(log_probs, axis=-1)).sum(axis=-1)


def _cut(array: Floats, window: int) -> Floats:
    """Cut (T, ...) steps into (n, W, ...) windows, the last one filled up with zeros."""
    n = -(-len(array) // window)
    windows = np.zeros((n * window, *array.shape[1:]), np.float32)
    windows[: len(array)] = array
    return windows.reshape(n, window, *array.shape[1:])


def _hidden_at_starts(unit: GatedUnit, lessons: list[Lesson], window: int) -> Floats:
    """(n, H) hidden numbers at the beginning of each window."""
    lengths = np.array([len(lesson.inputs) for lesson in lessons])
    order = np.argsort(-lengths, kind="stable")  # those that go on are the first
    starts = [np.zeros((-(-n // window), unit.size), np.float32) for n in lengths]
    hidden = np.zeros((len(lessons), unit.size), np.float32)
    for t in range(lengths.max()):
        going = order[: np.count_nonzero(lengths > t)]
        if t % window == 0:
            for place, number in enumerate(going):
                starts[number][t // window] = hidden[place]
        x = np.stack([lessons[number].inputs[t] for number in going])
        hidden[: len(going)] = unit(x, hidden[: len(going)])
    return np.concatenate(starts)


#: The same functions for students of the same form: compiling them takes seconds.
compile_learner = lru_cache(maxsize=8)(Learner)
