"""The matrix factory: the numbers are those of the trainer, and the same however it goes."""

import os
import shutil
import signal

import numpy as np
import pytest

from sdmbtl.contexts import ContextSpace
from sdmbtl.environments import make_family
from sdmbtl.errors import MatrixError, TrainingError
from sdmbtl.seeds import derived_seed
from sdmbtl.training import TrainingJob, make_trainer
from sdmbtl.training.ppo.jax_env import JaxEnvPPO
from sdmbtl.transfer.storage import load_arrays, save_arrays
from sdmbtl_lab.matrices import factory, load_matrix
from sdmbtl_lab.matrices.factory import ATTEMPTS, KIND, Rows, Unit
from sdmbtl_lab.matrices.matrix_factory import MatrixFactory, MatrixRecipe


@pytest.fixture
def begun(tmp_path, reference):
    """A directory with two finished seeds, to be changed."""
    return shutil.copytree(reference.path, tmp_path / "begun")


def made(path, recipe, seeds=2, **options):
    """The bytes of the matrix, and what was done for it."""
    done = []
    MatrixFactory(path, recipe).make(
        seeds, progress=lambda *step: done.append(step[2]) if step[2] else None, **options
    )
    return (path / "matrix.npz").read_bytes(), done


class TestNumbers:
    def test_are_those_of_the_trainer(self, recipe, reference):
        trainer, targets = recipe.specification().make_trainer(), recipe.space.targets
        seed, sources = 1, (4, 5, 6, 7)
        jobs = [TrainingJob(targets[[n]], derived_seed(3, "training", seed, n, 0)) for n in sources]
        for training, source in zip(trainer.train(jobs), sources, strict=True):
            played = trainer.evaluate(
                training.policy,
                targets,
                episodes=2,
                seed=derived_seed(3, "evaluation", seed, source),
            ).complete()
            dataset = reference.dataset
            assert np.array_equal(dataset.returns[seed, source], played.mean(axis=1))
            assert dataset.source_returns[seed, source] == training.source_return
            spread = (played[:, 0] - played[:, 1]) ** 2 / 2  # the variance of two episodes
            assert dataset.episode_variance[seed, source] == pytest.approx(spread.mean())

    def test_multi_task_policy_has_more_steps_and_sees_its_context(self, recipe, reference):
        trainer, targets = (
            recipe.specification(total_timesteps=1024).make_trainer(),
            recipe.space.targets,
        )
        seed = derived_seed(3, "multi-task 2 training", 0, 0)
        policy = trainer.train([TrainingJob(targets, seed, sees_context=True)])[0].policy
        assert policy.sees_context
        played = trainer.evaluate(
            policy,
            targets,
            episodes=2,
            seed=derived_seed(3, "multi-task 2 evaluation", 0),
        ).complete()
        assert np.array_equal(reference.dataset.multi_task[2][0], played.mean(axis=1))

    def test_seeds_and_roots_give_other_numbers(self, reference, tmp_path, small_recipe):
        first, second = reference.dataset.returns
        assert not np.array_equal(first, second)
        other = MatrixFactory(tmp_path / "m", small_recipe(seed=4, multi_task=())).make(1)
        assert not np.array_equal(other.returns[0], first)
        assert other.multi_task == {}

    def test_card(self, reference, recipe):
        card = reference.dataset.card
        assert (card["name"], card["seeds"]) == ("matrix", 2)
        assert MatrixRecipe(**card["recipe"]) == recipe
        cost = card["cost"]
        assert cost["training_steps"] == 2 * (8 * 512 + 2 * 512)
        assert cost["trained_again"] == 0
        assert cost["training_cpu_seconds"] > 0
        assert cost["evaluation_cpu_seconds"] > 0
        assert card["versions"]["numpy"] == np.__version__
        assert card["python"].startswith("3.")


class TestTheSameHoweverItGoes:
    @pytest.mark.slow
    @pytest.mark.parametrize(("stage", "number"), [("unit", 3), ("card", 0)])
    def test_killed_and_resumed(self, stage, number, tmp_path, recipe, reference, killed):
        path = tmp_path / "m"
        finished = killed(path, stage, number)
        assert finished.returncode == -signal.SIGKILL, finished.stderr
        if stage == "card":
            with pytest.raises(MatrixError, match="card of .* is missing"):
                load_matrix(path)
        content, done = made(path, recipe)
        assert content == reference.bytes
        assert len(done) == (0 if stage == "card" else 6 - number)
        load_matrix(path)

    @pytest.mark.slow
    def test_killed_again_and_again_with_workers(self, tmp_path, recipe, reference, killed):
        path = tmp_path / "m"
        assert killed(path, "unit", 1, jobs=2).returncode == -signal.SIGKILL
        assert killed(path, "saving", 0, jobs=2).returncode == -signal.SIGKILL
        assert list(path.rglob(".*.tmp"))
        content, done = made(path, recipe)
        assert content == reference.bytes
        assert len(done) == 5

    def test_seeds_one_after_another(self, tmp_path, recipe, reference):
        path = tmp_path / "m"
        assert len(made(path, recipe, seeds=1)[1]) == 3
        assert load_matrix(path).returns.shape == (1, 8, 8)
        content, done = made(path, recipe, seeds=2)
        assert content == reference.bytes
        assert all(label.startswith("seed 1") for label in done)

    @pytest.mark.slow
    def test_stable_baselines(self, tmp_path):
        space = ContextSpace(length=[0.3, 0.8])
        family = make_family("CartPole", space=space)
        trainer = make_trainer(
            *("sb3", family, space),
            total_timesteps=64,
            num_envs=2,
            num_steps=32,
            minibatch_size=32,
            update_epochs=1,
            eval_episodes=1,
        )
        recipe = MatrixRecipe.of(trainer, episodes=2, multi_task=(2,))
        here, _ = made(tmp_path / "here", recipe, seeds=1, jobs=1)
        elsewhere, done = made(tmp_path / "elsewhere", recipe, seeds=1, jobs=2)
        assert here == elsewhere
        assert len(done) == 3  # no chunks: one policy at a time


class TestProgress:
    def test_counts_policies_and_what_was_done_before(self, begun, recipe):
        (begun / "rows/seed-0/00004.npz").unlink()
        (begun / "rows/seed-1/multi-task-2.npz").unlink()
        steps = []
        MatrixFactory(begun, recipe).make(2, progress=lambda *step: steps.append(step))
        assert steps == [
            (14, 20, ""),
            (18, 20, "seed 0, 4 sources from 4"),
            (20, 20, "seed 1, multi-task with the steps of 2"),
        ]


def truncated(path):
    path.write_bytes(path.read_bytes()[:200])


def empty(path):
    path.write_bytes(b"")


def rewritten(**changes):
    def change(path):
        space, arrays = load_arrays(path, kind=KIND, arrays=Rows.shapes)
        space = changes.get("space", space)
        arrays = {name: changes.get(name, lambda a: a)(array) for name, array in arrays.items()}
        save_arrays(path, kind=KIND, space=space, arrays=arrays)

    return change


class TestDamage:
    @pytest.mark.parametrize(
        "damage",
        [
            truncated,
            empty,
            rewritten(returns=lambda a: a[:2]),
            rewritten(returns=lambda a: a * np.nan),
            rewritten(source_returns=lambda a: a[:1]),
            rewritten(space=ContextSpace(length=range(1, 9))),
        ],
    )
    def test_damaged_rows_are_made_again(self, damage, begun, recipe, reference):
        path = begun / "rows/seed-0/00004.npz"
        damage(path)
        content, done = made(begun, recipe)
        assert content == reference.bytes
        assert done == ["seed 0, 4 sources from 4"]


class TestFinished:
    def test_none_yet(self, begun, recipe):
        (begun / "rows/seed-0/00004.npz").unlink()
        with pytest.raises(MatrixError, match="No seed of the matrix in '.*begun' is finished"):
            MatrixFactory(begun, recipe).finished()

    def test_up_to_the_first_that_is_not(self, begun, recipe, reference):
        assert np.array_equal(
            MatrixFactory(begun, recipe).finished().returns, reference.dataset.returns
        )
        (begun / "rows/seed-1/00000.npz").unlink()
        dataset = MatrixFactory(begun, recipe, name="mine").finished()
        assert np.array_equal(dataset.returns, reference.dataset.returns[:1])
        assert dataset.name == "mine"


class TestTwoProcesses:
    def test_one_at_a_time_but_looking_is_allowed(self, begun, recipe, reference):
        (begun / "rows/seed-1/00004.npz").unlink()
        messages = []

        def meanwhile(*_):
            with pytest.raises(MatrixError) as caught:
                MatrixFactory(begun, recipe).make(1)
            messages.append(str(caught.value))
            assert len(MatrixFactory(begun, recipe).finished().matrices) in (1, 2)

        assert MatrixFactory(begun, recipe).make(2, progress=meanwhile).card["seeds"] == 2
        assert "Another process" in messages[0]


class TestFailures:
    @pytest.fixture
    def failing(self, monkeypatch):
        """Let runs fail whose first policy has one of these seeds."""

        def fail(seeds):
            train = JaxEnvPPO.train_chunk

            def maybe(self, jobs, *more):
                if jobs[0].seed in seeds:
                    raise TrainingError(f"Seed {jobs[0].seed} is not finite.")
                return train(self, jobs, *more)

            monkeypatch.setattr(JaxEnvPPO, "train_chunk", maybe)

        return fail

    def test_another_attempt_has_another_seed(self, begun, recipe, reference, failing):
        (begun / "rows/seed-0/00004.npz").unlink()
        failing([derived_seed(3, "training", 0, 4, attempt) for attempt in (0, 1)])
        dataset = MatrixFactory(begun, recipe).make(2)
        assert dataset.card["cost"]["trained_again"] == 1
        changed = (dataset.returns != reference.dataset.returns).any(axis=2)
        assert changed[0, 4:].any()
        assert changed.sum() == changed[0, 4:].sum()
        _, arrays = load_arrays(begun / "rows/seed-0/00004.npz", kind=KIND, arrays={"cost": (4,)})
        assert arrays["cost"][3] == 3

    def test_failed_each_time(self, tmp_path, recipe, failing):
        seeds = [derived_seed(3, "training", 0, 4, attempt) for attempt in range(ATTEMPTS)]
        path = tmp_path / "m"
        failing(seeds)
        with pytest.raises(TrainingError) as caught:
            MatrixFactory(path, recipe).make(2)
        message = str(caught.value)
        assert "seed 0, 4 sources from 4 failed 3 times" in message
        assert f"The last time: TrainingError: Seed {seeds[2]} is not finite." in message
        assert f"Everything finished so far is kept in {str(path)!r}." in message
        assert "smaller learning rate" in message
        assert "another directory" in message
        assert [p.name for p in path.rglob("*.npz")] == ["00000.npz"]

    @pytest.mark.slow
    def test_a_worker_that_dies(self, begun, recipe, monkeypatch):
        for name in ("00000", "00004"):
            (begun / f"rows/seed-0/{name}.npz").unlink()
        compute_all = factory.compute_all
        monkeypatch.setattr(factory, "compute_all", lambda _, *more: compute_all(die, *more))
        with pytest.raises(TrainingError) as caught:
            MatrixFactory(begun, recipe).make(2, jobs=2)
        assert "A worker process died, perhaps for lack of memory." in str(caught.value)
        assert f"kept in {str(begun)!r}. Continue with fewer jobs than 2." in str(caught.value)


def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_heartbeat_ends_the_work_in_the_middle_of_a_piece(tmp_path, recipe):
    beats, finished = [], []

    def heartbeat():
        beats.append(len(finished))
        if beats.count(1) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        MatrixFactory(tmp_path, recipe).make(
            1, progress=lambda *now: now[2] and finished.append(now), heartbeat=heartbeat
        )
    assert len(finished) == 1
    assert beats.count(0) > 1, "in training and in evaluation"


def test_time_is_not_lost_in_failed_attempts(monkeypatch, begun, recipe):
    """CPU time of attempts that failed belongs to the cost."""
    attempts, clock = [], iter([0.0, 3.0, 10.0, 14.0, 20.0])

    def well_in_the_end(self, unit, attempt, _):
        attempts.append(attempt)
        if attempt < 2:
            raise TrainingError("not yet")
        return Rows(*np.zeros((3, 1)), np.array([0.5, 0.25, 7, 1]), np.zeros((1, 0, 2)))

    monkeypatch.setattr(factory, "process_time", lambda: next(clock))
    monkeypatch.setattr(MatrixFactory, "_train_and_evaluate", well_in_the_end)
    rows = MatrixFactory(begun, recipe).compute(None, Unit(0, (0,)))
    assert attempts == [0, 1, 2]
    assert rows.cost.tolist() == [0.5 + 3.0 + 4.0, 0.25, 7, 3]
