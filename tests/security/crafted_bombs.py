"""Small files that ask for much memory or time, each made by a function.

A maker writes one file, or a directory, and returns its path. No file is larger than some
megabytes, and none takes long to make.
"""

import hashlib
import io
import json
import os
import shutil
import sqlite3
import struct
import zipfile
import zlib
from contextlib import closing
from pathlib import Path

import numpy as np
import safetensors.numpy

from sdmbtl.contexts import ContextSpace
from sdmbtl.policies import MlpPolicy, policy_bytes
from sdmbtl.portfolio import Member, Portfolio
from sdmbtl.studies import Study
from sdmbtl.studies.records import put_record, put_seal, read_seal
from sdmbtl.transfer import ObservedRows
from sdmbtl_lab.benchmarks import BenchmarkResult
from sdmbtl_lab.benchmarks.result import Aggregate, ProblemResult, SelectorResult, Statistics

SPACE = ContextSpace(a=[0.0, 1.0, 2.0, 3.0])
GIGA = 2**30
DEEP = 100_000
LONG = "9" * 500
GRID = {
    "version": 1,
    "dimensions": [
        {"name": name, "values": list(range(1000)), "scale": "steps"} for name in "abcd"
    ],
}


# -- archives ------------------------------------------------------------------------------


def zeros(size):
    """Many zeros in a raw deflate stream, without making them: one block, again and again."""
    block = min(size, 2**24)
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(bytes(block)) + packer.flush(zlib.Z_FULL_FLUSH)
    rest = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packed * (size // block) + rest.compress(bytes(size % block)) + rest.flush()


def zip_of(*entries):
    """An archive of entries (name, method, content as stored, size that is declared)."""
    local, central = b"", b""
    for name, method, content, size in entries:
        name = name.encode()
        large = size > 2**32 - 2
        extra = struct.pack("<HHQ", 1, 8, size) if large else b""
        fields = struct.pack(
            *("<HHHHHIIIHH", 45, 0, method, 0, 33, zlib.crc32(content) if not method else 0),
            *(len(content), 2**32 - 1 if large else size, len(name), len(extra)),
        )
        place = struct.pack("<HHHII", 0, 0, 0, 0, len(local))
        central += b"PK\1\2" + struct.pack("<H", 45) + fields + place + name + extra
        local += b"PK\3\4" + fields + name + extra + content
    end = (0, 0, len(entries), len(entries), len(central), len(local), 0)
    return local + central + b"PK\5\6" + struct.pack("<HHHHIIH", *end)


def npy(array):
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.asanyarray(array), allow_pickle=True)
    return buffer.getvalue()


def npy_header(shape, descr="<f8"):
    buffer = io.BytesIO()
    header = {"shape": tuple(shape), "fortran_order": False, "descr": descr}
    np.lib.format.write_array_header_1_0(buffer, header)
    return buffer.getvalue()


def stored(name, content):
    return (name, zipfile.ZIP_STORED, content, len(content))


def zeros_entry(name, shape, descr="<f8"):
    """A deflated array of zeros; its header is a block of its own, before theirs."""
    header = npy_header(shape, descr)
    size = int(np.prod(shape, dtype=object)) * np.dtype(descr).itemsize
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(header) + packer.flush(zlib.Z_FULL_FLUSH)
    body = zeros(size) if size <= 4 * GIGA else zeros(2**20)
    return (f"{name}.npy", zipfile.ZIP_DEFLATED, packed + body, len(header) + size)


def header_entry(kind="rows", space=None, text=None):
    header = {"version": 1, "kind": kind, "space": space or SPACE.to_dict()}
    return stored("header.npy", npy(np.array(text or json.dumps(header))))


def rows_entries(n=4):
    arrays = {"sources": np.zeros((1, 1)), "returns": np.zeros((1, n)), "source_returns": [0.0]}
    return [stored(f"{name}.npy", npy(np.array(array))) for name, array in arrays.items()]


def npz_unused(path):
    """Rows, and three gigabytes beside them that nobody asked for: may be read, without these."""
    entry = zeros_entry("extra", (3 * GIGA // 8,))
    path.write_bytes(zip_of(header_entry(), *rows_entries(), entry))


def npz_named(path):
    """Rows of 64 gigabytes, as many as there are episodes of nothing."""
    entry = zeros_entry("returns", (2 * GIGA, 4))
    sources = zeros_entry("sources", (2 * GIGA, 1))
    own = zeros_entry("source_returns", (2 * GIGA,))
    path.write_bytes(zip_of(header_entry(), sources, entry, own))


def npz_other_shape(path):
    """Three gigabytes that do not fit the targets."""
    sources, _, own = rows_entries()
    path.write_bytes(
        zip_of(header_entry(), sources, zeros_entry("returns", (1, 3 * GIGA // 8)), own)
    )


def npz_lying_shape(path):
    """An array whose header asks for a terabyte; the archive has a few bytes of it."""
    sources, _, own = rows_entries()
    returns = stored("returns.npy", npy_header((2**35, 4)) + bytes(32))
    path.write_bytes(zip_of(header_entry(), sources, returns, own))


def npz_endless_axis(path):
    """Axes of any length beside one of length 0."""
    sources = stored("sources.npy", npy_header((10**18, 0)))
    returns = stored("returns.npy", npy_header((10**18, 4, 0)))
    own = stored("source_returns.npy", npy_header((0,)))
    path.write_bytes(zip_of(header_entry(), sources, returns, own))


def npz_long_shape(path):
    """A shape of numbers with thousands of digits."""
    sources, _, own = rows_entries()
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({'9' * 4000}, {'9' * 4000})}}"
    header = b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text.encode()
    path.write_bytes(zip_of(header_entry(), sources, stored("returns.npy", header), own))


def npz_grid(path):
    """A space of 10^12 targets."""
    path.write_bytes(zip_of(header_entry(space=GRID), *rows_entries()))


def npz_deep(path):
    path.write_bytes(zip_of(header_entry(text="[" * DEEP + "]" * DEEP), *rows_entries()))


def npz_long_number(path):
    space = json.dumps(GRID).replace("999", LONG)
    text = '{"version":1,"kind":"rows","space":' + space + "}"
    path.write_bytes(zip_of(header_entry(text=text), *rows_entries()))


def npz_long_header(path):
    """A header of four gigabytes of text."""
    path.write_bytes(zip_of(zeros_entry("header", (), f"<U{2**28}"), *rows_entries()))


def npz_many_entries(path):
    entries = [stored(f"{number}", b"") for number in range(60_000)]
    path.write_bytes(zip_of(header_entry(), *rows_entries(), *entries))


def npz_other_compression(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("header.npy", npy(np.array("{}")))


def npz_nested(path):
    """An array of arrays, which would be unpickled."""
    sources, _, own = rows_entries()
    returns = stored("returns.npy", npy(np.array([[1], None], dtype=object)))
    path.write_bytes(zip_of(header_entry(), sources, returns, own))


NPZ = {
    each.__name__.removeprefix("npz_"): each
    for each in (
        *(npz_named, npz_other_shape, npz_lying_shape, npz_endless_axis, npz_long_shape),
        *(npz_grid, npz_deep, npz_long_number, npz_long_header, npz_other_compression, npz_nested),
    )
}

#: What may be read, for nobody asks for the rest.
HARMLESS_NPZ = {"unused": npz_unused, "many_entries": npz_many_entries}


# -- texts ---------------------------------------------------------------------------------

RANGE = "[dimensions.{}]\nlow = 0\nhigh = 1\nlevels = {}\n"
TOML = {
    "levels": RANGE.format("a", 10**12),
    "levels_together": "".join(RANGE.format(name, 9_000_000) for name in "abc"),
    "levels_endless": RANGE.format("a", LONG),
    "grid": "".join(f"[dimensions.{name}]\nvalues = {[*range(1000)]}\n" for name in "abcd"),
    "deep_lists": "[dimensions.a]\nvalues = " + "[" * DEEP + "]" * DEEP,
    "deep_tables": f"[dimensions.a{'.a' * 5_000}]\nvalues = [1]",
    "long_value": f"[dimensions.a]\nvalues = [1, {LONG}]",
    "longer_value": f"[dimensions.a]\nvalues = [1, {LONG * 10}]",
    "not_finite": "[dimensions.a]\nvalues = [1, nan]\n",
    "infinite_range": "[dimensions.a]\nlow = -inf\nhigh = inf\nlevels = 3\n",
    "large": "[dimensions.a]\nvalues = [1]\n#" + " " * 5 * 2**20,
    "a_table_for_values": "[dimensions.a]\nvalues = {x = 1}\n",
}

JSON = {
    "deep": "[" * DEEP + "]" * DEEP,
    "deep_tables": '{"a":' * DEEP + "1" + "}" * DEEP,
    "rather_deep": "[" * 500 + "]" * 500,
    "long_number": f"[{LONG}, 1, 2, 3]",
    "longer_number": f"[{LONG * 10}, 1, 2, 3]",
    "long_id": f'{{"id": {LONG}, "returns": [1, 2, 3, 4]}}',
    "id": f'{{"id": {10**18}, "returns": [1, 2, 3, 4]}}',
    "infinite": "[Infinity, 1, 2, 3]",
    "overflow": "[1e999, 1, 2, 3]",
    "not_utf8": b"\xff\xfe[1]",
    "zeros": bytes(1000),
}

_WEATHER = "year,day,radiation,tmin,tmax,rain,et0\n"
WEATHER = {
    "endless_line": _WEATHER + "1," * 2**21,
    "endless_header": "year," * 2**20,
    "endless_number": _WEATHER + "9" * 2**22,
    "endless_field": _WEATHER + '1,1,"' + "a" * 2**20,
    "large": _WEATHER + "1,1,1,1,1,1,1\n" * 2**20,
    "many_rows": _WEATHER + "1,1,1,1,1,1,1\n" * 2**19,
    "many_years": _WEATHER + "".join(f"{year},1,1,1,1,1,1\n" for year in range(1, 9999)),
    "no_year": _WEATHER + "nan,1,1,1,1,1,1\n",
    "no_numbers": _WEATHER + "1,1,nan,nan,nan,nan,nan\n",
    "huge": _WEATHER + "1e308,1e308,1e308,1e308,1e308,1e308,1e308\n",
    "long": _WEATHER + f"{LONG},{LONG},1,1,1,1,1\n",
    "infinite": _WEATHER + "1,inf,inf,-inf,inf,inf,inf\n",
    "zeros": "\0" * 1000,
}


def weather_pipe(path):
    """A pipe that nobody writes into."""
    os.mkfifo(path.with_suffix(".csv"))


def weather_link(path):
    """A file without an end."""
    path.with_suffix(".csv").symlink_to("/dev/zero")


WEATHER_PLACES = {
    "pipe": weather_pipe,
    "device": weather_link,
    "directory": lambda path: path.with_suffix(".csv").mkdir(),
    "not_utf8": lambda path: path.with_suffix(".csv").write_bytes(b"\xff\xfe" * 100),
}


# -- policies ------------------------------------------------------------------------------


def mlp(inputs=3, outputs=2, **settings):
    layers = [np.ones((inputs, 4), np.float32), np.ones((4, outputs), np.float32)]
    biases = [np.zeros(4, np.float32), np.zeros(outputs, np.float32)]
    return MlpPolicy(layers, biases, np.zeros(inputs), np.ones(inputs), **settings)


def rewritten(content, arrays=None, description=None, metadata=None):
    """A policy file with other arrays, or another description."""
    found = safetensors.numpy.load(content)
    length = int.from_bytes(content[:8], "little")
    header = json.loads(json.loads(content[8 : 8 + length])["__metadata__"]["sdmbtl"])
    header["description"].update(description or {})
    found.update(arrays or {})
    text = json.dumps(header) if metadata is None else metadata
    return safetensors.numpy.save(found, metadata={"sdmbtl": text})


def declared(shape):
    """A policy file that declares an array it does not have."""
    size = 4 * int(np.prod(shape, dtype=object))
    header = {
        "__metadata__": {"sdmbtl": "{}"},
        "weight_0": {"dtype": "F32", "shape": shape, "data_offsets": [0, size]},
    }
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(16)


def _mlp(**changes):
    return lambda: rewritten(policy_bytes(mlp()), **changes)


def _space(**space):
    return _mlp(description={"observation_space": space})


ONES = np.ones((3, 4), np.float32)
BOX = {"type": "Box", "dtype": "float32", "low": 0.0, "high": 1.0}
DISCRETE = {"type": "Discrete", "n": 30_000, "start": 0}

POLICIES = {
    "declared_shape": lambda: declared([30_000, 30_000]),
    "declared_endless": lambda: declared([2**62, 2**62]),
    "long_header": lambda: struct.pack("<Q", 2**62) + b"{}",
    "discrete": _space(**DISCRETE),
    "discrete_of_its_size": lambda: rewritten(
        policy_bytes(mlp(30_000)), description={"observation_space": DISCRETE}
    ),
    "multi_discrete": _space(type="MultiDiscrete", nvec=[30_000] * 100),
    "endless_discrete": _space(type="Discrete", n=10**18, start=0),
    "binary": _space(type="MultiBinary", n=10**12),
    "box": _space(**BOX, shape=[30_000, 30_000]),
    "endless_box": _space(**BOX, shape=[10**18, 10**18]),
    "box_of_texts": _space(**{**BOX, "dtype": "S1000000000"}, shape=[3]),
    "deep_space": lambda: _deep_space(),
    "layers": _mlp(description={"layers": 10**18}),
    "no_layers": _mlp(description={"layers": 0}),
    "deep_metadata": _mlp(metadata="[" * DEEP),
    "no_metadata": _mlp(metadata="null"),
    "nan": _mlp(arrays={"weight_0": np.full((3, 4), np.nan, np.float32)}),
    "infinite": _mlp(arrays={"bias_1": np.array([np.inf, 0], np.float32)}),
    "beyond_32_bits": _mlp(arrays={"bias_1": np.array([1e300, 0])}),
    "chain": _mlp(arrays={"weight_1": np.ones((5, 2), np.float32)}),
    "inputs": _mlp(arrays={"weight_0": np.ones((4, 4), np.float32)}),
    "biases": _mlp(arrays={"bias_0": np.zeros(3, np.float32)}),
    "axes": _mlp(arrays={"weight_0": np.ones((3, 4, 1), np.float32)}),
    "scale_size": _mlp(arrays={"scale": np.ones(2, np.float32)}),
    "scale": _mlp(arrays={"scale": np.array([1, 0, 1], np.float32)}),
    "critic": _mlp(arrays={"critic_weight_0": ONES.T, "critic_bias_0": np.zeros(3, np.float32)}),
    "seen": _mlp(arrays={"observations_seen": np.array([-1.0])}),
    "bounds": _mlp(description={"bounds": [1.0, -1.0]}),
    "bound_texts": _mlp(description={"bounds": ["a", "b"]}),
    "limit": _mlp(description={"limit": -1}),
    "observations": _space(**BOX, shape=[2, 2]),
    "actions": _mlp(description={"action_space": {"type": "Discrete", "n": 3, "start": 0}}),
}


def _deep_space():
    space = {**BOX, "shape": [3]}
    for _ in range(400):
        space = {"type": "Tuple", "spaces": [space]}
    return rewritten(policy_bytes(mlp()), description={"observation_space": space})


# -- policies of Stable-Baselines3 ------------------------------------------------------------


def network_bytes(description=None, arrays=None, *, acting=False, algorithm="PPO", **settings):
    """The file of a small network, with another description or other arrays."""
    import stable_baselines3

    from sdmbtl.policies.sb3 import SB3Policy

    settings = {"policy_kwargs": {"net_arch": [8]}, "device": "cpu", "seed": 0, **settings}
    model = getattr(stable_baselines3, algorithm)("MlpPolicy", "Pendulum-v1", **settings)
    policy = SB3Policy.from_model(model, policy_kwargs=settings["policy_kwargs"])
    content = policy_bytes(policy.acting() if acting else policy)
    return rewritten(content, arrays, description)


def _network(**kwargs):
    return lambda: network_bytes({"policy_kwargs": kwargs}, acting=True)


NORMALIZED = {"normalization": {"epsilon": 1e-8, "clip": 10.0}}


STATISTICS = {"observation_mean": np.zeros(3), "observation_variance": np.ones(3)}


def _normalized(mean, variance):
    arrays = {"observation_mean": np.array(mean), "observation_variance": np.array(variance)}
    return lambda: network_bytes(NORMALIZED, arrays)


NETWORKS = {
    "layers": _network(net_arch=[30_000, 30_000]),
    "critic": _network(net_arch={"pi": [8], "vf": [30_000, 30_000]}),
    "many_layers": _network(net_arch={"pi": [8], "vf": [1] * 100_000}),
    "many_critics": lambda: network_bytes(
        {"policy_kwargs": {"net_arch": [8], "n_critics": 10**9}},
        algorithm="SAC",
        buffer_size=10,
        acting=True,
    ),
    "not_numbers": _network(net_arch=["torch.nn.ReLU"]),
    "nan": lambda: network_bytes(
        arrays={"network.action_net.bias": np.array([np.nan], np.float32)}
    ),
    "shape": lambda: network_bytes(arrays={"network.action_net.bias": np.zeros(7, np.float32)}),
    "mean": _normalized([0.0] * 4, [1.0] * 4),
    "variance": _normalized([0.0] * 3, [1.0, -1.0, 1.0]),
    "image": lambda: network_bytes({"observation_space": {**BOX, "shape": [30_000, 30_000]}}),
}


# -- studies ---------------------------------------------------------------------------------


def make_study(path):
    """A study of four targets with two policies that were trained elsewhere."""
    study = Study.open(path, space=SPACE, seed=1)
    for row in ([1.0, 2.0, 3.0, 2.0], [2.0, 1.0, 0.0, 4.0]):
        study.tell(study.ask(), row)
    return path


def _database(path, *statements):
    with closing(sqlite3.connect(Path(path) / "study.db")) as database:
        for statement in statements:
            database.execute(*statement) if isinstance(statement, tuple) else database.execute(
                statement
            )
        if any(isinstance(statement, tuple) for statement in statements):
            put_seal(database, writes=9)  # whoever forges a record forges the seal as well
        database.commit()


def _forge(kind, key, text):
    """A study with one other record, and nothing sealed anew."""

    def change(path):
        with closing(sqlite3.connect(Path(path) / "study.db")) as database:
            database.execute(*put(kind, key, text))
            database.commit()

    return change


def _sealed(**changes):
    """A study whose seal says something else, with a right checksum."""

    def change(path):
        with closing(sqlite3.connect(Path(path) / "study.db")) as database:
            put_record(database, "seal", 0, {**read_seal(database), **changes})
            database.commit()

    return change


def put(kind, key, text, data=None):
    head = f"{kind} {key} {len(text)} {text}"
    digest = hashlib.sha256(head.encode() + (data or b"")).hexdigest()
    return "INSERT OR REPLACE INTO records VALUES (?, ?, ?, ?, ?)", (kind, key, digest, text, data)


def _configured(**changes):
    def change(path):
        facts = Study.open(path).database.facts()["configuration"]
        _database(path, put("fact", "configuration", json.dumps({**facts, **changes})))

    return change


ENDLESS = """CREATE VIEW records AS WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n)
SELECT 'trial' AS kind, i AS key, 'x' AS digest, '{}' AS text, NULL AS data FROM n"""
GENERATED = """CREATE TABLE records (kind TEXT, key, digest TEXT, text TEXT
GENERATED ALWAYS AS (hex(zeroblob(400000000))), data BLOB, PRIMARY KEY (kind, key))"""
TRIGGER = """CREATE TRIGGER more AFTER INSERT ON records BEGIN
INSERT INTO records SELECT kind, key || 'x', digest, text, data FROM records; END"""

STUDIES = {
    "view": lambda path: _database(path, "DROP TABLE records", ENDLESS),
    "view_in_capitals": lambda path: _database(
        path, "DROP TABLE records", ENDLESS.replace("records", "Records", 1)
    ),
    "view_behind_tables": lambda path: _database(
        path,
        "DROP TABLE records",
        *(f"CREATE TABLE dummy{number} (x)" for number in range(12)),
        ENDLESS,
    ),
    "deep_seal": _forge("seal", 0, "[" * DEEP + "]" * DEEP),
    "view_beside": lambda path: _database(path, ENDLESS.replace("records", "more", 1)),
    "trigger": lambda path: _database(path, TRIGGER),
    "generated": lambda path: _database(path, "DROP TABLE records", GENERATED),
    "index": lambda path: _database(path, "CREATE INDEX more ON records (hex(data))"),
    "virtual": lambda path: _database(
        path, "DROP TABLE records", "CREATE VIRTUAL TABLE records USING fts5(kind, key)"
    ),
    "deep_fact": lambda path: _database(path, put("fact", "budget", "[" * DEEP + "]" * DEEP)),
    "long_fact": lambda path: _database(path, put("fact", "budget", LONG)),
    "longer_fact": lambda path: _database(path, put("fact", "budget", LONG * 10)),
    "blob_for_text": lambda path: _database(
        path, "UPDATE records SET text = zeroblob(1000) WHERE kind = 'fact'"
    ),
    "list_for_a_trial": lambda path: _database(path, put("trial", 0, "[1]")),
    "text_for_errors": lambda path: _database(path, put("trial", 0, '"a"', b"123")),
    "no_trial": lambda path: _database(path, "DELETE FROM records WHERE key = 0"),
    "many_trials": lambda path: _database(path, put("trial", 10**18, "{}")),
    "seal_of_many": _sealed(trials=10**18),
    "seal_of_text": _sealed(trials="many"),
    "seal_without_count": _sealed(trials=None, writes=[]),
    "seal_of_writes": _sealed(writes="many"),
    "grid": _configured(space=GRID),
    "space": _configured(space=[1]),
    "episodes": _configured(episodes=10**18),
    "batch": _configured(batch=10**400),
    "contexts": _configured(region_contexts=10**18),
    "selector": _configured(selector=[]),
    "selector_options": _configured(selector={"name": "auto", "options": {"x": 1}}),
    "family": _configured(family={"name": 3, "options": {}}),
    "trainer": _configured(family={"name": "CartPole", "options": {}}, trainer="ppo"),
    "range": _configured(return_range=[float("nan"), 1]),
}


# -- portfolios --------------------------------------------------------------------------------


def make_portfolio(path):
    members = [
        Member(number, SPACE.target(number), mlp(), np.full((4, 2), float(number)))
        for number in range(2)
    ]
    Portfolio(SPACE, members, return_range=(0.0, 10.0)).export(path)
    return path


def _manifest(change):
    def edit(path):
        manifest = json.loads((path / "portfolio.json").read_text())
        change(manifest, path)
        (path / "portfolio.json").write_text(json.dumps(manifest))

    return edit


def _text(text):
    return lambda path: (path / "portfolio.json").write_text(text)


def _member(**changes):
    return _manifest(lambda manifest, _: manifest["members"][0].update(changes))


def _large_returns(manifest, path):
    entries = [zeros_entry(f"{n:04d}", (4, 2 * GIGA)) for n in range(2)]
    content = zip_of(header_entry("portfolio returns"), *entries)
    (path / "returns.npz").write_bytes(content)
    manifest["returns_sha256"] = hashlib.sha256(content).hexdigest()


def _large_policy(manifest, path):
    content = declared([30_000, 30_000])
    (path / "policies" / "0000.safetensors").write_bytes(content)
    manifest["members"][0]["sha256"] = hashlib.sha256(content).hexdigest()


PORTFOLIOS = {
    "deep": _text("[" * DEEP),
    "list": _text("[]"),
    "grid": _manifest(lambda manifest, _: manifest.update(space=GRID)),
    "infinite_id": _member(id=float("inf")),
    "nan_id": _member(id=float("nan")),
    "long_id": _member(id=10**300),
    "file": _member(file=5),
    "long_file": _member(file="x" * 5000),
    "width": _member(width=10**300),
    "steps": _member(steps=float("inf")),
    "context": _member(context=[10**300]),
    "members": _manifest(lambda manifest, _: manifest.update(members={"a": 1})),
    "family": _manifest(lambda manifest, _: manifest.update(family=[1])),
    "range": _manifest(lambda manifest, _: manifest.update(return_range=[0, 10**300, 1])),
    "large_returns": _manifest(_large_returns),
    "large_policy": _manifest(_large_policy),
}


# -- recipes -----------------------------------------------------------------------------------


def _recipe(**changes):
    recipe = {
        "family": {"name": "CartPole", "options": {}},
        "targets": SPACE.to_dict(),
        "trainer": "ppo",
        "training": {"total_timesteps": 512},
        "centers": 1,
        **changes,
    }
    return lambda path: path.write_text(json.dumps(recipe))


def make_recipe(path):
    _recipe(runs=2, lengths=[1], parent_lengths=[1])(path)
    return path


RECIPES = {
    "runs": _recipe(runs=10**18),
    "contexts": _recipe(whole_contexts=10**12),
    "episodes": _recipe(episodes=10**18),
    "centers": _recipe(centers=10**18),
    "lengths": _recipe(lengths=[10**400]),
    "number_for_lengths": _recipe(lengths=1),
    "forms": _recipe(forms=[[]]),
    "grid": _recipe(targets=GRID),
    "list": lambda path: path.write_text("[]"),
    "deep": lambda path: path.write_text("[" * DEEP),
}


def make_result(path):
    """The result of a small benchmark."""
    numbers = Statistics(0.5, 0.01, 0.5, 0.02, 0.5, 0.03)
    each = SelectorResult({2: {"final": numbers, "auc": numbers}}, (0.4, 0.5))
    names = ("m-mbtl", "random", "myopic-oracle")
    problem = ProblemResult("p", {"f(x)": "linear"}, 2, 0.0, 1.0, dict.fromkeys(names, each))
    aggregate = {"final": Aggregate(0.5, 0.1), "auc": Aggregate(None, why="x")}
    BenchmarkResult(
        *("few", "Few", ("f(x)",), 3, (2,), names, (problem,)),
        aggregated={2: dict.fromkeys(names, aggregate)},
        settings={"kind": "synthetic", "dim": 3, "noise": 5.0},
    ).save(path)
    return path


def make_rows(path):
    ObservedRows(SPACE, SPACE.targets[:2], np.arange(8.0).reshape(2, 4)).save(path)
    return path


def copied(original, path, change):
    """A copy of a directory, changed."""
    shutil.copytree(original, path)
    change(path)
    return path
