"""The matrix factory: the numbers are those of the trainer, and the same however it goes."""

import json
import os
import shutil
import signal

import numpy as np
import pytest

from sdmbtl.contexts import ContextSpace
from sdmbtl.environments import make_family
from sdmbtl.errors import MatrixError, TrainingError
from sdmbtl.lock import exclusive
from sdmbtl.seeds import derived_seed
from sdmbtl.training import Evaluation, TrainingJob, make_trainer
from sdmbtl.training.ppo.jax_env import JaxEnvPPO
from sdmbtl.transfer.storage import load_arrays, save_arrays
from sdmbtl_lab.matrices import factory, load_matrix, software, units
from sdmbtl_lab.matrices.matrix_factory import MatrixFactory
from sdmbtl_lab.matrices.matrix_recipe import MatrixRecipe
from sdmbtl_lab.matrices.matrix_units import MatrixUnit, matrix_units
from sdmbtl_lab.matrices.units import ATTEMPTS, KIND, Rows


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
        trainer, targets = recipe.multi_task_specification(2).make_trainer(), recipe.space.targets
        assert trainer.observe_context
        assert trainer.settings()["total_timesteps"] == 2 * recipe.training["total_timesteps"]
        job = TrainingJob(targets, derived_seed(3, "multi-task 2 training", 0, 0))
        played = trainer.evaluate(
            trainer.train([job])[0].policy,
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

    def test_one_episode_has_no_variance(self, tmp_path, small_recipe):
        recipe = small_recipe(episodes=1, multi_task=())
        dataset = MatrixFactory(tmp_path / "m", recipe).make(1)
        assert (dataset.episode_variance == 0).all()

    def test_what_is_on_disk_is_what_was_returned(self, reference):
        loaded, dataset = load_matrix(reference.path), reference.dataset
        assert np.array_equal(loaded.returns, dataset.returns)  # whole rewards
        assert np.array_equal(loaded.multi_task[2], dataset.multi_task[2])
        assert loaded.source_returns == pytest.approx(dataset.source_returns)
        assert loaded.card == dataset.card

    def test_card(self, reference, recipe):
        card = reference.dataset.card
        assert (card["name"], card["seeds"]) == ("matrix", 2)
        assert MatrixRecipe.from_dict(card["recipe"]) == recipe
        cost = card["cost"]
        assert cost["training_steps"] == 2 * (8 * 512 + 2 * 512)
        assert cost["trained_again"] == 0
        assert cost["training_cpu_seconds"] > 0
        assert cost["evaluation_cpu_seconds"] > 0
        assert card["versions"]["numpy"] == np.__version__
        assert card["python"].startswith("3.")
        assert "earlier_software" not in card

    def test_cost_is_that_of_all_pieces(self, reference):
        each = [
            load_arrays(p, kind=KIND, arrays={"cost": (4,)})[1]["cost"] for p in rows_of(reference)
        ]
        assert len(each) == 6
        training, evaluation, *_ = np.sum(each, axis=0)
        cost = reference.dataset.card["cost"]
        assert cost["training_cpu_seconds"] == pytest.approx(training, abs=0.0006)
        assert cost["evaluation_cpu_seconds"] == pytest.approx(evaluation, abs=0.0006)


def rows_of(reference):
    return sorted(reference.path.glob("rows/*/*.npz"))


class TestTheSameHoweverItGoes:
    def test_layout_that_other_releases_read(self, reference):
        names = [str(path.relative_to(reference.path)) for path in rows_of(reference)]
        assert names == [
            f"rows/seed-{seed}/{name}.npz"
            for seed in (0, 1)
            for name in ("00000", "00004", "multi-task-2")
        ]

    def test_several_processes(self, tmp_path, recipe, reference):
        content, done = made(tmp_path / "m", recipe, jobs=2)
        assert content == reference.bytes
        assert len(done) == 6

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
        assert not list(path.rglob(".*.tmp"))

    def test_interrupted_between_two_pieces(self, tmp_path, recipe, reference):
        def interrupt(done, total, label):
            if done >= 8:
                raise KeyboardInterrupt

        path = tmp_path / "m"
        with pytest.raises(KeyboardInterrupt):
            MatrixFactory(path, recipe).make(2, progress=interrupt)
        content, done = made(path, recipe)
        assert content == reference.bytes
        assert done[0] == "seed 0, multi-task with the steps of 2"
        assert len(done) == 4

    def test_seeds_one_after_another(self, tmp_path, recipe, reference):
        path = tmp_path / "m"
        assert len(made(path, recipe, seeds=1)[1]) == 3
        assert load_matrix(path).returns.shape == (1, 8, 8)
        content, done = made(path, recipe, seeds=2)
        assert content == reference.bytes
        assert all(label.startswith("seed 1") for label in done)

    def test_fewer_seeds_than_before(self, begun, recipe, reference):
        assert made(begun, recipe, seeds=1)[1] == []
        first = load_matrix(begun)
        assert np.array_equal(first.returns, reference.dataset.returns[:1])
        assert first.card["seeds"] == 1
        assert MatrixFactory(begun, recipe).begun_seeds == 2
        assert made(begun, recipe, seeds=2) == (reference.bytes, [])

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
            (18, 20, "seed 0, sources 4 to 7"),
            (20, 20, "seed 1, multi-task with the steps of 2"),
        ]

    def test_longest_first_and_seed_by_seed(self, tmp_path, small_recipe, monkeypatch):
        todo = []
        monkeypatch.setattr(
            factory, "compute_all", lambda f, given, *_: todo.extend(given) or iter(())
        )
        with pytest.raises(MatrixError, match="lacks seed 0, sources 0 to 3"):
            MatrixFactory(tmp_path, small_recipe(multi_task=(9, 2))).make(2)
        assert [(u.seed, u.weight) for u in todo] == [
            (seed, weight) for seed in (0, 1) for weight in (9, 4, 4, 2)
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
            rewritten(episode_variance=lambda a: a[:1]),
            rewritten(cost=lambda a: a[:3]),
            rewritten(cost=lambda a: a.astype(str)),
            rewritten(space=ContextSpace(length=range(1, 9))),
        ],
    )
    def test_damaged_rows_are_made_again(self, damage, begun, recipe, reference):
        path = begun / "rows/seed-0/00004.npz"
        damage(path)
        assert MatrixFactory(begun, recipe).damaged(2) == [path]
        content, done = made(begun, recipe)
        assert content == reference.bytes
        assert done == ["seed 0, sources 4 to 7"]
        assert MatrixFactory(begun, recipe).damaged(2) == []

    def test_missing_rows_are_not_damaged(self, begun, recipe):
        (begun / "rows/seed-0/00004.npz").unlink()
        assert MatrixFactory(begun, recipe).damaged(2) == []

    def test_leftovers_of_a_killed_process_are_deleted(self, begun, recipe):
        for name in (".matrix.npz.17.tmp", "rows/seed-1/.00004.npz.17.tmp"):
            (begun / name).write_bytes(b"half")
        (begun / "notes.tmp").write_text("mine")
        made(begun, recipe)
        assert [path.name for path in begun.rglob("*.tmp")] == ["notes.tmp"]


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

    def test_asking_for_more_than_there_is(self, begun, recipe):
        with pytest.raises(MatrixError, match="lacks seed 2, sources 0 to 3. Finish making it"):
            MatrixFactory(begun, recipe).assembled(3)

    @pytest.mark.parametrize("seeds", [0, -1, 1.5, True])
    def test_number_of_seeds(self, seeds, begun, recipe):
        for ask in (MatrixFactory(begun, recipe).assembled, MatrixFactory(begun, recipe).make):
            with pytest.raises(MatrixError, match=f"'seeds' must be .* >= 1. Got {seeds}"):
                ask(seeds)

    def test_number_of_jobs(self, begun, recipe):
        with pytest.raises(MatrixError, match="'jobs' must be a whole number >= 1. Got 0"):
            MatrixFactory(begun, recipe).make(1, jobs=0)


class TestTakingOver:
    def test_others_are_added_to_the_seeds_of_a_data_set(
        self, tmp_path, recipe, reference, monkeypatch
    ):
        first = MatrixFactory(tmp_path / "first", recipe).make(1)
        later = {**software.software(), "python": "9.9"}
        monkeypatch.setattr(software, "software", lambda: later)
        factory = MatrixFactory(tmp_path / "both", recipe, name="first")
        factory.take_over(load_matrix(tmp_path / "first"))
        assert factory.finished().card == first.card
        labels = []
        both = factory.make(2, progress=lambda *step: labels.append(step))
        assert [label for *_, label in labels] == [
            "",
            "seed 1, sources 0 to 3",
            "seed 1, sources 4 to 7",
            "seed 1, multi-task with the steps of 2",
        ]
        assert np.array_equal(both.returns, reference.dataset.returns)
        assert np.array_equal(both.multi_task[2], reference.dataset.multi_task[2])
        assert both.card["python"] == "9.9"
        assert [e["python"] for e in both.card["earlier_software"]] == [first.card["python"]]

    def test_what_is_there_stays(self, begun, recipe, reference):
        before = {path: path.read_bytes() for path in begun.rglob("*.npz")}
        MatrixFactory(begun, recipe).take_over(load_matrix(reference.path))
        assert {path: path.read_bytes() for path in begun.rglob("*.npz")}.items() >= before.items()

    def test_another_recipe(self, tmp_path, small_recipe, reference):
        factory = MatrixFactory(tmp_path / "other", small_recipe(episodes=3))
        with pytest.raises(
            MatrixError, match="made in another way.*\n  episodes: recorded 2, now 3"
        ):
            factory.take_over(load_matrix(reference.path))
        assert not list(factory.out.glob("rows/*"))


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
        assert messages[0] == (
            f"Another process (number {os.getpid()}) is making the matrix in {str(begun)!r}. "
            "Wait until it ends, or stop it."
        )

    def test_a_recipe_is_begun_by_one(self, tmp_path, recipe):
        with (
            exclusive(tmp_path / "matrix.lock", doing="testing"),
            pytest.raises(MatrixError, match="Another process"),
        ):
            MatrixFactory(tmp_path, recipe)
        assert not (tmp_path / "recipe.json").exists()


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
        assert "seed 0, sources 4 to 7 failed 3 times" in message
        assert f"The last time: TrainingError: Seed {seeds[2]} is not finite." in message
        assert f"Everything finished so far is kept in {str(path)!r}." in message
        assert "smaller learning rate" in message
        assert "another directory" in message
        assert [p.name for p in path.rglob("*.npz")] == ["00000.npz"]

    def test_returns_that_are_not_finite_are_a_failure(self, tmp_path, recipe, monkeypatch):
        monkeypatch.setattr(
            JaxEnvPPO,
            "evaluate",
            lambda self, policy, contexts, **_: Evaluation(np.full((8, 2), np.inf)),
        )
        with pytest.raises(
            TrainingError, match=r"on 8 of 8 contexts.*first error: .*return is inf in .*'length'"
        ):
            MatrixFactory(tmp_path, recipe).make(1)

    def test_a_worker_that_dies(self, begun, recipe, monkeypatch):
        for name in ("00000", "00004"):
            (begun / f"rows/seed-0/{name}.npz").unlink()
        monkeypatch.setattr(factory, "compute_with_retries", die)
        with pytest.raises(TrainingError) as caught:
            MatrixFactory(begun, recipe).make(2, jobs=2)
        assert "A worker process died, perhaps for lack of memory." in str(caught.value)
        assert f"kept in {str(begun)!r}. Continue with fewer jobs than 2." in str(caught.value)

    @pytest.mark.parametrize("below", ["", "deep/er"])
    def test_a_directory_that_cannot_be_made(self, below, tmp_path, recipe):
        (tmp_path / "file").write_text("in the way")
        with pytest.raises(MatrixError, match="Cannot write to '.*': .*Choose another directory"):
            MatrixFactory(tmp_path / "file" / below, recipe)
        with pytest.raises(MatrixError, match="Cannot write to"):
            MatrixFactory(tmp_path / "file", recipe)

    def test_full_disk(self, small_disk, recipe, reference):
        path = small_disk / "m"
        made(path, recipe, seeds=1)
        ballast = small_disk / "ballast"
        ballast.write_bytes(bytes(os.statvfs(small_disk).f_bavail * 4096))
        with pytest.raises(MatrixError) as caught:
            MatrixFactory(path, recipe).make(2)
        assert str(caught.value) == (
            f"Cannot write to {str(path)!r}: No space left on device. Everything finished so far "
            f"is kept in {str(path)!r}. Make room, or give access, then continue."
        )
        assert len(MatrixFactory(path, recipe).finished().matrices) == 1
        ballast.unlink()
        assert made(path, recipe)[0] == reference.bytes


def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)


class TestSoftware:
    def test_what_worked_on_a_matrix_is_recorded(self, begun, recipe, monkeypatch):
        before = json.loads((begun / "software.json").read_text())
        assert before == [software.software()]
        monkeypatch.setattr(
            software, "versions", lambda names: {"python": "3.99", **dict.fromkeys(names, "99")}
        )
        made(begun, recipe)  # nothing was left to do, so nothing was done with these
        assert load_matrix(begun).card["versions"]["numpy"] == np.__version__
        (begun / "rows/seed-0/00004.npz").unlink()
        made(begun, recipe)
        card = load_matrix(begun).card
        assert card["versions"]["numpy"] == "99"
        assert card["earlier_software"] == before

    def test_a_directory_without_the_record(self, begun, recipe):
        (begun / "software.json").unlink()
        card = MatrixFactory(begun, recipe).finished().card
        assert card["versions"] == {}, "who puts it together need not have made it"

    @pytest.mark.parametrize("text", ["{", "[3]", "5", "[", "\xff"])
    def test_a_damaged_record(self, text, begun, recipe):
        (begun / "software.json").write_bytes(text.encode("latin-1"))
        with pytest.raises(MatrixError, match="software.json is damaged .* delete it to continue"):
            MatrixFactory(begun, recipe).finished()

    def test_a_package_that_is_missing(self, monkeypatch):
        monkeypatch.setattr(software, "_PACKAGES", ("numpy", "no-such-package"))
        assert software.software()["versions"] == {"numpy": np.__version__, "no-such-package": None}


class TestUnits:
    def test_cover_every_source_once(self, small_recipe):
        found = matrix_units(small_recipe({"chunk": 3}), 5)
        assert [u.sources for u in found] == [(0, 1, 2), (3, 4, 5), (6, 7), ()]
        assert [u.n_policies for u in found] == [3, 3, 2, 1]
        assert [u.weight for u in found] == [3, 3, 2, 2]
        assert {u.seed for u in found} == {5}

    def test_multi_task_is_as_much_work_as_its_steps(self):
        assert MatrixUnit(0, multi_task=50).weight == 50
        assert MatrixUnit(0, multi_task=50).n_policies == 1


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


def test_time_is_not_lost_in_failed_attempts(monkeypatch):
    """CPU time of attempts that failed belongs to the cost."""
    attempts, clock = [], iter([0.0, 3.0, 10.0, 14.0, 20.0])

    def well_in_the_end(unit, attempt, _):
        attempts.append(attempt)
        if attempt < 2:
            raise TrainingError("not yet")
        return units.Rows(*np.zeros((3, 1)), np.array([0.5, 0.25, 7, 1]))

    monkeypatch.setattr(units, "process_time", lambda: next(clock))
    rows = units.compute_with_retries(well_in_the_end, None, MatrixUnit(0, (0,)))
    assert attempts == [0, 1, 2]
    assert rows.cost.tolist() == [0.5 + 3.0 + 4.0, 0.25, 7, 3]
