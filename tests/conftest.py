import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

# How long an example takes says how busy the machine is.
settings.register_profile("any-machine", deadline=None)
settings.load_profile("any-machine")

# Many products of small matrices: threads that wait for one another take longer than one alone.
# Set before NumPy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Compiled functions are kept between runs: compiling is most of the time of tests that train for a
# moment. Set before JAX is imported, for this process and its children.
os.environ.setdefault(
    "JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parents[1] / "build" / "compiled")
)
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")

# Studies that tests make are marked as made here: not in the directory of whoever runs the tests.
_state = tempfile.TemporaryDirectory(prefix="sdmbtl-state-")
os.environ["XDG_STATE_HOME"] = _state.name


@pytest.fixture
def small_disk(tmp_path):
    """A file system with room for a few hundred kilobytes."""
    place = tmp_path / "disk"
    place.mkdir()
    mount, unmount = shutil.which("mount"), shutil.which("umount")
    command = [mount, "-t", "tmpfs", "-o", "size=240k", "tmpfs", place]
    if mount is None or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("mounting a small file system needs root")
    yield place
    subprocess.run([unmount, place], check=True)


def pytest_collection_modifyitems(items):
    """Begin with the file whose one test takes longest, so that no process waits for it."""
    items.sort(key=lambda item: item.path.name != "test_readme.py")
