import os
import tempfile

# What one test or process has compiled, the others use: compiling is most of the time of tests
# that train for a moment. Set before JAX is imported, for this process and its children.
_compiled = tempfile.TemporaryDirectory(prefix="sdmbtl-compiled-")
os.environ["JAX_COMPILATION_CACHE_DIR"] = _compiled.name
os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
