"""Settings for every test: those of the product, of the lab and of the domains."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

COMPILED = Path(__file__).parent / "build" / "compiled"
COMPILED_BYTES = 500e6

# An example may take long on a busy machine.
settings.register_profile("thorough", max_examples=200, deadline=None)
settings.register_profile("short", max_examples=20, deadline=None, derandomize=True)
settings.load_profile("short")

# Environment variables are set before NumPy and JAX are imported, for child processes too.
# Threads that wait for one another are slower than one on products of small matrices.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Compiling takes most of the time of tests that train for a moment.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(COMPILED))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
# Functions that run for a moment are compiled four times as fast without optimisations. Policies
# have other bytes then, so recorded ones are made without these flags.
FAST_COMPILATION = (
    "--xla_backend_optimization_level=0",
    "--xla_llvm_disable_expensive_passes=true",
    "--xla_cpu_use_fusion_emitters=false",
    "--xla_cpu_parallel_codegen_split_count=1",
)
os.environ.setdefault("XLA_FLAGS", " ".join(FAST_COMPILATION))
# JAX compiles again what a killed process has left half written in the cache. Child processes
# do not print a warning about it; pyproject.toml has the same filter for this process.
os.environ["PYTHONWARNINGS"] = "ignore:Error reading persistent compilation cache"
# Studies that tests make are not registered in the user's directory.
_state = tempfile.TemporaryDirectory(prefix="sdmbtl-state-")
os.environ["XDG_STATE_HOME"] = _state.name


def pytest_configure(config):
    """Empty the cache of compiled functions when it has grown too large."""
    if hasattr(config, "workerinput") or not COMPILED.is_dir():
        return  # a worker of pytest-xdist: its controller has looked
    if sum(file.stat().st_size for file in COMPILED.iterdir()) > COMPILED_BYTES:
        shutil.rmtree(COMPILED)


@pytest.fixture
def small_disk(tmp_path):
    """A file system with room for a few hundred kilobytes."""
    place = tmp_path / "disk"
    place.mkdir()
    mount, unmount = shutil.which("mount"), shutil.which("umount")
    command = [mount, "-t", "tmpfs", "-o", "size=800k", "tmpfs", place]
    if mount is None or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("mounting a small file system needs root")
    yield place
    subprocess.run([unmount, "-l", place], check=True)  # although studies in it are open
