"""Files from somebody who means harm: studies, portfolios, matrices, policies, spaces, rows.

Each case is a function that writes such files into a directory, and the commands that read them.
Whatever they try to run is in the module `canary`, or would leave a file in `outside`.
"""

import hashlib
import io
import json
import os
import pickle
import shutil
import sqlite3
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from portfolio_makers import linear_policy, some_portfolio
from sdmbtl.studies.records import put_record, put_seal

from sdmbtl import ContextSpace
from sdmbtl.policies import policy_bytes
from sdmbtl.studies import Study
from sdmbtl_lab.matrices import TransferDataset, TransferMatrices

#: Clears the screen, sets the title, moves up, turns the writing direction.
ESCAPES = "\x1b[2J\x1b]0;title\x07\x1b[1A\u202eevil\r\n[red]x[/red]\x9b1A"

#: Would start a program, import a module or write a file, if anything were to run it.
CANARY = """
from pathlib import Path

Path({place!r}, "imported").touch()


def make(context=None, **options):
    Path({place!r}, "called").touch()


class Policy:
    __init__ = make
"""

SPACE = ContextSpace(length=[0.3, 0.6], masspole=[0.1, 0.2])
ROWS = [[10.0, 20.0, 30.0, 40.0], [40.0, 30.0, 20.0, 10.0], [25.0, 25.0, 26.0, 26.0]]


@dataclass(frozen=True)
class Case:
    """One foreign thing, how it is written, and the commands that read it."""

    name: str
    write: Any
    commands: tuple[tuple[Any, ...], ...]


class Bomb:
    """What a pickle runs when it is opened."""

    def __reduce__(self):
        return os.system, ("touch outside/unpickled",)


# -- studies -------------------------------------------------------------------------------

#: In each kind, those that are most likely to run something come first.
STUDY = (
    *(("resume", "@", "--budget", "3"), ("evaluate", "@"), ("doctor", "@"), ("status", "@")),
    *(("portfolio", "@", "--export", "exported"), ("portfolio", "@", "--context", "length=0.3")),
    *(("evaluate", "@", "--missing"), ("evaluate", "@", "--samples", "2")),
    ("resume", "@", "--retry-failed", "--budget", "3"),
    ("run", "CartPole", "--space", "space.toml", "--out", "@"),
    *(("status", "@", "--show", "models"), ("status", "@", "--json"), ("doctor", "@", "--json")),
    *(("status", "@", "--show", show) for show in ("targets", "curves", "structure")),
    *(("ask", "@"), ("tell", "@", "row.json", "--id", "0", "--replace"), ("portfolio", "@")),
    ("doctor", "@", "--repair"),
)
PPO = {"name": "ppo", "settings": {}}


def base_study(path):
    """A small study of three policies that were trained elsewhere."""
    study = Study.open(path, space=SPACE)
    for number, row in enumerate(ROWS):
        study.tell(SPACE.target(number), row)
    return study


def study_case(name, commands=STUDY, *, facts=None, raw=None, **configuration):
    """A study with another configuration, other facts, or a changed file."""

    def write(place, base):
        shutil.copytree(base, place)
        with opened(place) as file:
            (text,) = file.execute(
                "SELECT text FROM records WHERE kind = 'fact' AND key = 'configuration'"
            ).fetchone()
            recorded = {"configuration": json.loads(text) | configuration}
            for key, value in (recorded | (facts or {})).items():
                put_record(file, "fact", key, value)
        if raw is not None:
            raw(place)
        shutil.copy(place / "study.db", place / "study.backup.db")

    return Case(f"study: {name}", write, commands)


@contextmanager
def opened(place):
    """The database of a study, to be changed without waiting for the disk."""
    with closing(sqlite3.connect(place / "study.db")) as file, file:
        file.execute("PRAGMA synchronous = OFF")
        yield file
        (kind,) = file.execute("SELECT type FROM sqlite_master WHERE name = 'records'").fetchone()
        if kind == "table":  # whoever forges a study forges its seal as well
            put_seal(file, writes=9)


def environment(name, options=None, **more):
    return {"family": {"name": name, "options": options or {}, **more}, "trainer": PPO}


def sb3(**settings):
    trainer = {"name": "sb3", "settings": {"total_timesteps": 64, **settings}}
    return {"family": {"name": "CartPole", "options": {}}, "trainer": trainer}


def renamed_space(*names):
    data = SPACE.to_dict()
    pairs = zip(names, data["dimensions"], strict=True)
    return {"space": data | {"dimensions": [old | {"name": name} for name, old in pairs]}}


def changed_trial(**changes):
    """Rewrites trial 0 with a right checksum, whatever it is then."""

    def write(place):
        with opened(place) as file:
            (text, data) = file.execute(
                "SELECT text, data FROM records WHERE kind = 'trial' AND key = 0"
            ).fetchone()
            put_record(file, "trial", 0, json.loads(text) | changes, data)

    return write


def recorded(kind, key, value):
    def write(place):
        with opened(place) as file:
            put_record(file, kind, key, value)

    return write


def with_policy(data):
    """Gives trial 0 a policy file with a right checksum."""

    def write(place):
        file = place / "policies/0000.safetensors"
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(data)
        digest = hashlib.sha256(data).hexdigest()
        changed_trial(run={"attempt": 0, "errors": [], "policy_sha256": digest})(place)

    return write


def sql(*statements):
    def write(place):
        with opened(place) as file:
            for statement in statements:
                file.execute(statement)

    return write


def linked(name, target):
    def write(place):
        if (place / name).is_dir():
            shutil.rmtree(place / name)
        (place / name).unlink(missing_ok=True)
        (place / name).symlink_to(target)

    return write


def policy_file(kind="mlp", **description):
    """A policy file whose header says another kind, or describes something else."""
    content = policy_bytes(linear_policy(1.0, 2.0, 3.0, 4.0))
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    inner = json.loads(header["__metadata__"]["sdmbtl"])
    inner["kind"] = kind
    inner["description"] |= description
    header["__metadata__"]["sdmbtl"] = json.dumps(inner)
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + content[8 + length :]


BOX = {"type": "Box", "shape": [4], "dtype": "float32", "low": -1.0, "high": 1.0}
SB3_POLICY = {
    "algorithm": "PPO",
    "policy": "canary:Policy",
    "policy_kwargs": {},
    "observation_space": BOX,
    "action_space": {"type": "Discrete", "n": 2, "start": 0},
    "normalization": None,
}

NAMES_OF_CODE = (
    *("canary:make", "canary:Policy", "canary.inner:make", "subprocess:Popen", "os:system"),
    *("builtins:exec", "importlib:import_module", "runpy:run_path", "canary:os.system"),
    *("../outside/canary:make", "gym:canary:Canary-v0", "gym:antigravity:X-v0", "gym::X"),
    *("canary:", ":make", "gym:", f"canary:{ESCAPES}", "no_such_module:make"),
)

STUDIES = [
    *(study_case(f"environment {name!r}", **environment(name)) for name in NAMES_OF_CODE),
    study_case(
        "arguments that name code",
        **environment("gym:sdmbtl/CartPole-v0", {"family": "canary:make"}),
    ),
    study_case("a file as an argument", **environment("gym:Ant-v5", {"xml_file": "/etc/passwd"})),
    study_case(
        "a path of attributes",
        **environment("gym:CartPole-v1", {"dimensions": {"length": "unwrapped.step.im_func"}}),
    ),
    study_case("an unknown family", **environment("Canary", {"factory": "canary:make"})),
    study_case("an option of a family", **environment("CartPole", {"physics": "canary:make"})),
    study_case("a space as an option", STUDY[2:4], **environment("CartPole", {"space": "/etc"})),
    study_case("a name as an option", **environment("CartPole", {"name": "canary:make"})),
    study_case("a number as the name", **environment("gym:CartPole-v1", {"environment": 5})),
    study_case("environments as a setting", **sb3(family="canary:make", space="canary:make")),
    study_case("a factory as an option", **environment("CartPole", {"factory": "canary:make"})),
    study_case("no importable function", **environment("canary:make", importable=False)),
    study_case("a name that is none", **environment(["canary:make"])),
    study_case(
        "options that are none", family={"name": "canary:make", "options": "x"}, trainer=PPO
    ),
    study_case("a family that is none", family="canary:make", trainer=PPO),
    study_case(
        "a trainer by name", family={"name": "CartPole", "options": {}}, trainer="canary:make"
    ),
    study_case(
        "a trainer of one's own",
        family={"name": "CartPole", "options": {}},
        trainer={"name": "canary:make", "settings": {}},
    ),
    study_case("environments without a trainer", family={"name": "canary:make", "options": {}}),
    study_case("a policy class of Python", **sb3(policy="subprocess:Popen")),
    study_case("callbacks", **sb3(callbacks=["canary:make", "os:system"])),
    study_case("callbacks as a text", **sb3(callbacks="canary:make")),
    study_case(
        "a class in the arguments",
        **sb3(policy_kwargs={"activation_fn": "canary.make"}),
    ),
    study_case("a class of buffers", **sb3(replay_buffer_class="canary.make")),
    study_case("an unknown setting", **sb3(canary="canary:make")),
    study_case("a selector by name", selector={"name": "canary:make", "options": {}}),
    study_case("a selector that is none", selector="canary:make"),
    study_case(
        "a detector by name",
        selector={"name": "structure-detection", "options": {"detector": {"name": "canary:make"}}},
    ),
    study_case(
        "models by name",
        selector={"name": "auto", "options": {"models": [{"name": "canary:make"}]}},
    ),
    study_case("a configuration that is none", facts={"configuration": [1, 2]}),
    study_case("a space that is none", space={"dimensions": ESCAPES}),
    study_case("names that steer", **renamed_space(f"length{ESCAPES}", "masspole")),
    study_case("names of several lines", **renamed_space("length\nhealthy", "masspole")),
    study_case("names that are turned", **renamed_space("length\u202e", "masspole")),
    study_case("names of markup", **renamed_space("[red]length[/red]", "[/]masspole")),
    study_case("a seed that is none", seed=ESCAPES),
    study_case("a range that is none", return_range=[ESCAPES, 1]),
    study_case("facts of another kind", facts={"budget": ESCAPES, "versions": ESCAPES}),
    study_case("random actions", facts={"random_actions": {"error": ESCAPES}}),
    study_case(
        "changed environments",
        facts={"environments": [{"policies": 0, "changes": [ESCAPES], "identity": ESCAPES}] * 2},
        **environment("CartPole"),
    ),
    study_case("another origin", facts={"origin": ESCAPES}, **environment("canary:make")),
    study_case(
        "a failed run",
        raw=changed_trial(
            status="failed",
            row=None,
            reason=ESCAPES,
            strategy=ESCAPES,
            model=ESCAPES,
            run={"attempt": 0, "errors": [ESCAPES, ESCAPES]},
        ),
    ),
    study_case(
        "texts of a trial",
        raw=changed_trial(reason=ESCAPES, strategy=ESCAPES, structure=ESCAPES, model=ESCAPES),
    ),
    study_case("attributes", raw=changed_trial(attributes={ESCAPES: ESCAPES})),
    study_case("a status", raw=changed_trial(status=ESCAPES)),
    study_case("errors on targets", raw=recorded("errors", 0, {"0": ESCAPES, "1": ESCAPES})),
    study_case("errors on nothing", raw=recorded("errors", 0, {ESCAPES: ESCAPES})),
    study_case("times", raw=recorded("seconds", 0, {ESCAPES: 1.0})),
    study_case("an unknown record", raw=recorded(ESCAPES, 0, {})),
    study_case(
        "a trigger", raw=sql("CREATE TRIGGER t AFTER INSERT ON records BEGIN SELECT 1; END")
    ),
    study_case(
        "a view",
        raw=sql("ALTER TABLE records RENAME TO r", "CREATE VIEW records AS SELECT * FROM r"),
    ),
    study_case("a pickle as a policy", raw=with_policy(pickle.dumps(Bomb()))),
    study_case("a policy of one's own kind", raw=with_policy(policy_file("canary:Policy"))),
    study_case(
        "a policy with a class", raw=with_policy(policy_file("stable-baselines3", **SB3_POLICY))
    ),
    study_case("a policy that is a link", raw=linked("policies", "/etc")),
]

# -- portfolios ----------------------------------------------------------------------------

PORTFOLIO = (
    *(("portfolio", "@"), ("portfolio", "@", "--json"), ("portfolio", "@", "--export", "exported")),
    *(("portfolio", "@", "--context", "a=1 b=10"), ("portfolio", "@", "--smallest", "0")),
    *(("status", "@"), ("doctor", "@")),
)


def portfolio_case(name, change=None, /, **manifest):
    def write(place, base):
        some_portfolio().export(place)
        path = place / "portfolio.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | manifest))
        if change is not None:
            change(place)

    return Case(f"portfolio: {name}", write, PORTFOLIO)


def changed_member(**changes):
    def change(place):
        path = place / "portfolio.json"
        manifest = json.loads(path.read_text())
        manifest["members"][0] |= changes
        path.write_text(json.dumps(manifest))

    return change


def with_returns(content):
    def change(place):
        (place / "returns.npz").write_bytes(content)
        digest = hashlib.sha256(content).hexdigest()
        path = place / "portfolio.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"returns_sha256": digest}))

    return change


def pickled_arrays(**arrays):
    found = io.BytesIO()
    np.savez(found, **arrays, bomb=np.array([Bomb()], dtype=object))
    return found.getvalue()


PORTFOLIOS = [
    portfolio_case("a family", family={"name": "canary:make", "options": {}}),
    portfolio_case("a family that is none", family={"name": 5, "options": {}}),
    portfolio_case("a format", format=ESCAPES),
    portfolio_case("a version", version=ESCAPES),
    portfolio_case("a space", space={"dimensions": {ESCAPES: {"values": [1.0]}}}),
    portfolio_case("a range", return_range=[ESCAPES, ESCAPES]),
    portfolio_case("members that are none", members=ESCAPES),
    portfolio_case("a number that is none", changed_member(id=1e999)),
    portfolio_case("an absolute path", changed_member(file="/etc/passwd")),
    portfolio_case("a path upwards", changed_member(file="policies/../../../etc/passwd")),
    portfolio_case("a path that steers", changed_member(file=ESCAPES)),
    portfolio_case("a context", changed_member(context={ESCAPES: 1.0})),
    portfolio_case("a parent", changed_member(parent=ESCAPES)),
    portfolio_case("pickled returns", with_returns(pickled_arrays())),
    portfolio_case("returns that are a pickle", with_returns(pickle.dumps(Bomb()))),
    portfolio_case(
        "a manifest that is none", lambda p: (p / "portfolio.json").write_text("[" * 99)
    ),
    portfolio_case("linked policies", linked("policies", "/etc")),
    portfolio_case("a linked manifest", linked("portfolio.json", "/etc/passwd")),
]

# -- matrices ------------------------------------------------------------------------------

MATRIX = (
    *(("lab", "describe", "@"), ("lab", "describe", "@", "--json")),
    *(("lab", "describe", "@", "--figures", "figures"), ("portfolio", "@"), ("status", "@")),
)
#: With a recipe of another matrix, nothing is trained.
RESUMED = (("lab", "matrix", "CartPole", "--space", "space.toml", "--out", "@"), *MATRIX)


def matrix_case(name, change=None, /, **card):
    def write(place, base):
        place.mkdir()
        returns = np.arange(32.0).reshape(2, 4, 4)
        matrices = TransferMatrices(SPACE, returns)
        own = np.ones((2, 4))
        dataset = TransferDataset(matrices, own, own, card={"name": "mine", "seeds": 2})
        dataset.save(place / "matrix.npz")
        path = place / "matrix.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | card))
        if change is not None:
            change(place)

    return Case(f"matrix: {name}", write, RESUMED if "recipe.json" in name else MATRIX)


def written(name, content):
    def change(place):
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        (place / name).write_bytes(data)

    return change


def header(**changes):
    usual = {"version": 1, "kind": "transfer data set", "space": SPACE.to_dict()}
    return np.array(json.dumps(usual | changes))


RECIPE = {
    "family": {"name": "canary:make", "options": {}},
    "targets": SPACE.to_dict(),
    "trainer": "ppo",
    "training": {},
    "multi_task": [],
}


def recipe(**changes):
    return written("recipe.json", RECIPE | changes)


MATRICES = [
    matrix_case("a name that leads out", name="../../outside/x"),
    matrix_case("a name that steers", name=ESCAPES),
    matrix_case("a name that is none", name={"a": [ESCAPES]}),
    matrix_case("a recipe in the card", recipe=RECIPE),
    matrix_case("a card of another kind", written("matrix.json", [ESCAPES])),
    matrix_case("pickled arrays", written("matrix.npz", pickled_arrays(header=header()))),
    matrix_case("a pickle", written("matrix.npz", pickle.dumps(Bomb()))),
    matrix_case(
        "a kind that steers", written("matrix.npz", pickled_arrays(header=header(kind=ESCAPES)))
    ),
    matrix_case("recipe.json: a function", recipe()),
    matrix_case(
        "recipe.json: a recipe of Python",
        written("recipe.json", RECIPE | {"trainer": "canary:make"}),
    ),
    matrix_case(
        "recipe.json: a recipe that steers", written("recipe.json", RECIPE | {ESCAPES: ESCAPES})
    ),
    matrix_case(
        "recipe.json: a family that is none",
        written("recipe.json", RECIPE | {"family": {"name": 5}}),
    ),
]

# -- spaces and rows -----------------------------------------------------------------------

TOML = (
    ("ask", "new", "--space", "@"),
    ("run", "CartPole", "--space", "@", "--out", "new"),
    ("lab", "matrix", "CartPole", "--space", "@", "--out", "new"),
    ("ask", "@"),
)
VALUES = "values = [0.3, 0.6]\n"


def file_case(kind, name, content, commands):
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    return Case(f"{kind}: {name}", lambda place, base: place.write_bytes(data), commands)


def quoted(name):
    return json.dumps(name)


SPACES = [
    file_case("space", name, content, TOML)
    for name, content in {
        "a name that steers": f"[dimensions.{quoted(ESCAPES)}]\n{VALUES}",
        "a name of lines": f"[dimensions.{quoted('a' + chr(10) + 'b')}]\n{VALUES}",
        "a name that is turned": f"[dimensions.{quoted(chr(0x202E))}]\n{VALUES}",
        "no name": f'[dimensions.""]\n{VALUES}',
        "a key that steers": f"[dimensions.length]\n{VALUES}{quoted(ESCAPES)} = 1\n",
        "values that steer": f"[dimensions.length]\nvalues = [{quoted(ESCAPES)}]\n",
        "a path": f'[dimensions.length]\n{VALUES}path = "__class__.__init__"\n',
        "a scale": f"[dimensions.length]\n{VALUES}scale = {quoted(ESCAPES)}\n",
        "another table": f"[canary]\nfamily = 'canary:make'\n[dimensions.length]\n{VALUES}",
        "bytes": b"\xff\xfe\x00",
        "no TOML": "\x1b[2J = = =",
    }.items()
]

GYM_SPACES = [
    file_case(
        "space of gym",
        path,
        f"[dimensions.length]\n{VALUES}path = {quoted(path)}\n",
        (("run", "gym:CartPole-v1", "--space", "@", "--out", "new"),),
    )
    for path in (
        *("unwrapped.__class__.__init__", "unwrapped.step.__globals__", "os.system", "length;x"),
        *("unwrapped.spec.entry_point", "step()", ESCAPES, "unwrapped.np_random"),
    )
]

TELL = (
    ("tell", "asked", "@", "--id", "0", "--replace"),
    ("tell", "asked", "@"),
    ("tell", "asked", "@", "--repeat", "--json"),
)
NOTE = {"returns": ROWS[0]}
JSON_ROWS = [
    file_case("row", name, content if isinstance(content, bytes) else json.dumps(content), TELL)
    for name, content in {
        "a text": ESCAPES,
        "texts": [ESCAPES] * 4,
        "a key that steers": NOTE | {ESCAPES: 1},
        "attributes that steer": NOTE | {"attributes": {ESCAPES: ESCAPES}},
        "a context that steers": NOTE | {"context": {ESCAPES: 1}},
        "a strategy": NOTE | {"strategy": ESCAPES, "reason": ESCAPES, "model": ESCAPES},
        "a number": NOTE | {"id": ESCAPES},
        "a parent": NOTE | {"context": SPACE.target(0), "parent": ESCAPES},
        "a width": NOTE | {"context": SPACE.target(0), "width": ESCAPES},
        "a pickle": pickle.dumps(Bomb()),
        "bytes": b"\x1b[2J\xff",
    }.items()
]

EVERY = [*STUDIES, *PORTFOLIOS, *MATRICES, *SPACES, *GYM_SPACES, *JSON_ROWS]


# -- archives of Stable-Baselines3 ---------------------------------------------------------
