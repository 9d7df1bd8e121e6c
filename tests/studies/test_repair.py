"""Whatever happens to a file of a study: a repair gives no rows up and touches nothing outside."""

import os
import shutil

import numpy as np
import pytest
from killing_spree import outcome
from stand_ins import STAND_INS, make_study, run_quickly

from sdmbtl.errors import BusyError, DamagedStudyError, SdmbtlError, StudyError
from sdmbtl.studies import Study
from sdmbtl.studies.doctor import examine, repair
from sdmbtl.studies.policy_files import PolicyFiles
from sdmbtl.training import Checkpoints

FILES = (
    "study.db",
    "study.db-journal",
    "study.db-wal",
    "study.backup.db",
    "policies",
    "policies/0000.safetensors",
    "policies/0003.safetensors",
    "checkpoints",
    "checkpoints/0123.npz",
)


def remove(path, _):
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def make_directory(path, _):
    remove(path, _)
    path.mkdir(parents=True)
    (path / "inside").write_text("gold")


def cut(path, _):
    if path.is_dir():
        remove(path, _)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2] if path.is_file() else b"")


def link(path, treasure):
    remove(path, treasure)
    path.parent.mkdir(exist_ok=True)
    path.symlink_to(treasure)


def link_to_a_directory(path, treasure):
    remove(path, treasure)
    path.parent.mkdir(exist_ok=True)
    path.symlink_to(treasure.parent, target_is_directory=True)


def make_pipe(path, _):
    remove(path, _)
    path.parent.mkdir(exist_ok=True)
    os.mkfifo(path)


HARMS = (remove, make_directory, cut, link, link_to_a_directory, make_pipe)


@pytest.fixture
def treasure(tmp_path):
    path = tmp_path / "vault" / "treasure"
    path.parent.mkdir()
    path.write_text("gold")
    return path


@pytest.fixture(scope="module")
def finished_once(tmp_path_factory):
    path = tmp_path_factory.mktemp("finished") / "study"
    make_study(path, batch=1)
    with pytest.MonkeyPatch.context() as patch:
        for stand_in in STAND_INS:
            patch.setattr(*stand_in)
        run_quickly(path)
    return path


@pytest.fixture
def done(quick, finished_once):
    shutil.rmtree(quick)
    shutil.copytree(finished_once, quick)
    return quick


def rows(path):
    return [t.row.tolist() for t in Study.open(path).trials]


def untouched(treasure):
    return [p.name for p in treasure.parent.iterdir()] == ["treasure"] and (
        treasure.read_text() == "gold"
    )


def some_always(harms):
    """Every pair of a file and a harm; two for each file are not slow, and every harm is among."""
    for place, name in enumerate(FILES):
        always = {(place + more) % len(harms) for more in (0, len(harms) // 2)}
        for number, harm in enumerate(harms):
            marks = [] if number in always else [pytest.mark.slow]
            yield pytest.param(name, harm, marks=marks, id=f"{harm.__name__}-{name}")


@pytest.mark.parametrize(("name", "harm"), list(some_always(HARMS)))
def test_a_repair_gives_nothing_up(name, harm, done, treasure):
    before = rows(done)
    harm(done / name, treasure)
    found = examine(done)
    if (name, harm) == ("study.backup.db", make_directory):
        with pytest.raises(StudyError, match="Is a directory"):
            repair(done)
    else:
        repaired = repair(done)
        assert repaired.healthy or name.startswith("policies")
        assert found.healthy or repaired.repaired or not repaired.healthy
    assert rows(done) == before
    assert untouched(treasure)


@pytest.mark.parametrize(
    ("name", "harm"), list(some_always((make_directory, link, link_to_a_directory, make_pipe)))
)
def test_nothing_but_files_of_the_study_is_opened(name, harm, done, treasure):
    """Each is refused with its name, or does without; nothing is waited for."""
    harm(done / name, treasure)
    for work in (
        lambda: Study.open(done).status(),
        lambda: Study.open(done).ask(),
        lambda: Study.open(done).tell([0.7], np.ones(64)),
        lambda: run_quickly(done, budget=7),
    ):
        try:
            work()
        except SdmbtlError as error:
            assert (done / name).name in str(error)  # noqa: PT017 (some do without)
    assert untouched(treasure)


def test_an_unmounted_folder_of_policies_costs_nothing(done):
    result = outcome(done)
    (done / "policies").rename(done.parent / "policies")
    (done / "policies").mkdir()
    found = repair(done)
    assert sum("is missing; its returns are recorded" in f.text for f in found.findings) == 4
    assert not found.repaired
    study = Study.open(done)
    assert study.n_finished == 4
    with (
        pytest.warns(UserWarning, match="is left out"),
        pytest.raises(StudyError, match="files of all 4 .* missing or damaged"),
    ):
        study.portfolio()
    (done / "policies").rmdir()
    (done.parent / "policies").rename(done / "policies")
    assert outcome(done) == result
    assert examine(done).healthy


def test_a_read_only_directory_can_be_looked_at(blank, small_disk):
    import subprocess

    path = small_disk / "study"
    made = Study.open(path, space=Study.open(blank).space, selector="random")
    made.ask()
    made.close()
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)  # noqa: S607
    study = Study.open(path)
    assert study.status()["pending"] == 1
    assert examine(path).healthy
    for write in (study.ask, lambda: study.tell(0, np.ones(64)), lambda: repair(path)):
        with pytest.raises(StudyError, match="(?i)read-?only") as caught:
            write()
        assert not isinstance(caught.value, BusyError)


def test_checkpoints_behind_a_link_are_refused(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "checkpoints").symlink_to(tmp_path / "data")
    with pytest.raises(StudyError, match="not a directory"):
        Checkpoints(tmp_path / "checkpoints")


def test_of_a_batch_that_cannot_be_written_nothing_is_recorded(quick, monkeypatch):
    write, written = PolicyFiles.write, []

    def run_out_of_space(files, *arguments):
        if written:
            raise StudyError("No space left on device")
        written.append(arguments)
        return write(files, *arguments)

    monkeypatch.setattr(PolicyFiles, "write", run_out_of_space)
    with pytest.raises(StudyError, match="No space left"):
        run_quickly(quick)
    assert [t.has_policy for t in Study.open(quick).trials] == [False, False]
    monkeypatch.undo()


SUPER_JOURNAL = bytes.fromhex("d9d505f920a163d7")


@pytest.mark.parametrize("name", ["study.db-journal", "study.backup.db-journal"])
def test_a_journal_that_names_another_file_is_not_rolled_back(name, done, treasure):
    """SQLite would delete the file that it names, when it is opened."""
    named = str(treasure).encode()
    page = (done / name.removesuffix("-journal")).read_bytes()[:4096]
    header = SUPER_JOURNAL + (1).to_bytes(4) + bytes(4) + (9).to_bytes(4)
    header += (512).to_bytes(4) + (4096).to_bytes(4)
    record = (1).to_bytes(4) + page
    record += (sum(page[i] for i in range(4096 - 200, 0, -200)) & 0xFFFFFFFF).to_bytes(4)
    end = (9999).to_bytes(4) + named + len(named).to_bytes(4) + sum(named).to_bytes(4)
    (done / name).write_bytes(header.ljust(512, b"\0") + record + end + SUPER_JOURNAL)
    assert examine(done).healthy == (name != "study.db-journal")
    if name == "study.db-journal":
        with pytest.raises(DamagedStudyError, match="delete another file"):
            Study.open(done).status()
    assert treasure.read_text() == "gold"
    repair(done)
    assert treasure.read_text() == "gold"
