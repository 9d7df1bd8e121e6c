"""Files from somebody who means harm: studies, portfolios, spaces, rows.

Each case is a function that writes such a file, and the commands that read it. Whatever they try to
run is in the module `canary`, or would leave a file in `outside`.
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

from sdmbtl import ContextSpace
from sdmbtl.policies import policy_bytes
from sdmbtl.studies import Study

#: Clears the screen, sets the title, moves up, turns the writing direction.
ESCAPES = "\x1b[2J\x1b]0;title\x07\x1b[1A\u202eevil\r\n[red]x[/red]\x9b1A"

#: Would leave a file, if anything were to import or call it.
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
    """One foreign thing: a function that writes it, and the commands that read it."""

    name: str
    write: Any
    commands: tuple[tuple[str, ...], ...]


class Bomb:
    """A pickle that runs a program when it is opened."""

    def __reduce__(self):
        return os.system, ("touch outside/unpickled",)


# -- studies -------------------------------------------------------------------------------

#: The commands that are most likely to run something come first.
STUDY = (
    *(("resume", "@", "--budget", "3"), ("portfolio", "@"), ("doctor", "@")),
    *(("status", "@"), ("evaluate", "@"), ("evaluate", "@", "--missing")),
    *(("portfolio", "@", "--export", "exported"), ("portfolio", "@", "--context", "length=0.3")),
    ("run", "CartPole", "--space", "space.toml", "--out", "@"),
    *(("status", "@", "--json"), ("doctor", "@", "--json"), ("doctor", "@", "--repair")),
    ("status", "@", "--show", "targets"),
    *(("ask", "@"), ("tell", "@", "row.json", "--id", "0", "--replace")),
)
PPO = {"name": "ppo", "settings": {}}


def base_study(path):
    """A small study of three policies that were trained elsewhere."""
    study = Study.open(path, space=SPACE)
    for number, row in enumerate(ROWS):
        study.tell(SPACE.target(number), row)


@contextmanager
def opened(place):
    """The database of a study, to be changed without waiting for the disk."""
    with closing(sqlite3.connect(place / "study.db")) as file, file:
        file.execute("PRAGMA synchronous = OFF")
        yield file


def study_case(name, *, facts=None, raw=None, trial=None, **configuration):
    """A study with another configuration, other facts, or a changed file."""

    def write(place, base):
        shutil.copytree(base, place)
        with opened(place) as file:
            (text,) = file.execute(
                "SELECT value FROM facts WHERE name = 'configuration'"
            ).fetchone()
            for key, value in (
                {"configuration": json.loads(text) | configuration} | (facts or {})
            ).items():
                file.execute("REPLACE INTO facts VALUES (?, ?)", (key, json.dumps(value)))
            (body,) = file.execute("SELECT body FROM trials WHERE id = 0").fetchone()
            body = json.dumps(json.loads(body) | (trial or {}))
            file.execute("UPDATE trials SET body = ? WHERE id = 0", (body,))
        if raw is not None:
            raw(place)
        shutil.copy(place / "study.db", place / "study.backup.db")

    return Case(f"study: {name}", write, STUDY)


def environment(name, options=None):
    return {"family": {"name": name, "options": options or {}}, "trainer": PPO}


def with_policy(data):
    """Give trial 0 a policy file with a right checksum."""

    def write(place):
        file = place / "policies/0000.safetensors"
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(data)

    run = {"attempt": 0, "errors": [], "policy_sha256": hashlib.sha256(data).hexdigest()}
    return {"raw": write, "trial": {"run": run}}


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
    """A policy file whose header has another kind, or another description."""
    content = policy_bytes(linear_policy(1.0, 2.0, 3.0, 4.0))
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    inner = json.loads(header["__metadata__"]["sdmbtl"])
    inner["kind"] = kind
    inner["description"] |= description
    header["__metadata__"]["sdmbtl"] = json.dumps(inner)
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + content[8 + length :]


def renamed_space(name):
    data = SPACE.to_dict()
    first, second = data["dimensions"]
    return {"space": data | {"dimensions": [first | {"name": name}, second]}}


NAMES_OF_CODE = (
    *("canary:make", "canary:Policy", "os:system", "builtins:exec", "canary:os.system"),
    *("../outside/canary:make", "gym:canary:Canary-v0", "gym::X", ":make", f"canary:{ESCAPES}"),
)

STUDIES = [
    *(study_case(f"environment {name!r}", **environment(name)) for name in NAMES_OF_CODE),
    study_case(
        "arguments that name code",
        **environment("gym:sdmbtl/CartPole-v0", {"family": "canary:make"}),
    ),
    study_case(
        "a path of attributes",
        **environment("gym:CartPole-v1", {"dimensions": {"length": "unwrapped.step.im_func"}}),
    ),
    study_case("a family that is none", family="canary:make", trainer=PPO),
    study_case(
        "a trainer of one's own",
        family={"name": "CartPole", "options": {}},
        trainer={"name": "canary:make", "settings": {}},
    ),
    study_case("a selector by name", selector={"name": "canary:make", "options": {}}),
    study_case("a configuration that is none", facts={"configuration": [1, 2]}),
    study_case("names that steer", **renamed_space(f"length{ESCAPES}")),
    study_case("names of markup", **renamed_space("[red]length[/red]")),
    study_case("a seed that is none", seed=ESCAPES),
    study_case("facts of another kind", facts={"budget": ESCAPES, "versions": ESCAPES}),
    study_case("texts of a trial", trial={"reason": ESCAPES, "strategy": ESCAPES}),
    study_case("a status", trial={"status": ESCAPES}),
    study_case("a trigger", raw=sql("CREATE TRIGGER t AFTER INSERT ON facts BEGIN SELECT 1; END")),
    study_case(
        "a view", raw=sql("ALTER TABLE facts RENAME TO f", "CREATE VIEW facts AS SELECT * FROM f")
    ),
    study_case("a pickle as a policy", **with_policy(pickle.dumps(Bomb()))),
    study_case("a policy of one's own kind", **with_policy(policy_file("canary:Policy"))),
    study_case("a policy that is a link", raw=linked("policies", "/etc")),
]

# -- portfolios ----------------------------------------------------------------------------

PORTFOLIO = (
    *(("portfolio", "@"), ("portfolio", "@", "--export", "exported"), ("status", "@")),
    *(("portfolio", "@", "--json"), ("portfolio", "@", "--context", "a=1 b=10"), ("doctor", "@")),
)


def portfolio_case(name, change=None, *, member=None, **manifest):
    def write(place, base):
        some_portfolio().export(place)
        path = place / "portfolio.json"
        found = json.loads(path.read_text()) | manifest
        if member is not None:
            found["members"][0] |= member
        path.write_text(json.dumps(found))
        if change is not None:
            change(place)

    return Case(f"portfolio: {name}", write, PORTFOLIO)


def with_returns(content):
    def change(place):
        digest = hashlib.sha256(content).hexdigest()
        (place / f"returns-{digest[:16]}.npz").write_bytes(content)
        path = place / "portfolio.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"returns_sha256": digest}))

    return change


def pickled_arrays():
    found = io.BytesIO()
    np.savez(found, bomb=np.array([Bomb()], dtype=object))
    return found.getvalue()


PORTFOLIOS = [
    portfolio_case("a family", family={"name": "canary:make", "options": {}}),
    portfolio_case("a format", format=ESCAPES),
    portfolio_case("members that are none", members=ESCAPES),
    portfolio_case("an absolute path", member={"sha256": "/etc/passwd"}),
    portfolio_case("a path upwards", member={"sha256": "../../../etc/passwd"}),
    portfolio_case("a context", member={"context": {ESCAPES: 1.0}}),
    portfolio_case("pickled returns", with_returns(pickled_arrays())),
    portfolio_case("no manifest", lambda place: (place / "portfolio.json").write_text("[" * 99)),
    portfolio_case("linked policies", linked("policies", "/etc")),
    portfolio_case("a linked manifest", linked("portfolio.json", "/etc/passwd")),
]

# -- spaces and rows -----------------------------------------------------------------------

TOML = (("run", "gym:CartPole-v1", "--space", "@", "--out", "new"), ("ask", "new", "--space", "@"))
TELL = (("tell", "asked", "@", "--id", "0", "--replace"), ("tell", "asked", "@"))
VALUES = "values = [0.3, 0.6]\n"
STEERING = json.dumps(ESCAPES)


def file_case(kind, name, content, commands):
    data = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
    return Case(f"{kind}: {name}", lambda place, base: place.write_bytes(data), commands)


SPACES = [
    file_case("space", name, content, TOML)
    for name, content in {
        "a name that steers": f"[dimensions.{STEERING}]\n{VALUES}",
        "a key that steers": f"[dimensions.length]\n{VALUES}{STEERING} = 1\n",
        "values that steer": f"[dimensions.length]\nvalues = [{STEERING}]\n",
        "a private path": f'[dimensions.length]\n{VALUES}path = "unwrapped.step.__globals__"\n',
        "a call": f'[dimensions.length]\n{VALUES}path = "step()"\n',
        "a path that steers": f"[dimensions.length]\n{VALUES}path = {STEERING}\n",
        "bytes": b"\xff\xfe\x00",
        "no TOML": "\x1b[2J = = =",
    }.items()
]

NOTE = {"returns": ROWS[0]}
JSON_ROWS = [
    file_case("row", name, content if isinstance(content, bytes) else json.dumps(content), TELL)
    for name, content in {
        "texts": [ESCAPES] * 4,
        "a key that steers": NOTE | {ESCAPES: 1},
        "a context that steers": NOTE | {"context": {ESCAPES: 1}},
        "a pickle": pickle.dumps(Bomb()),
    }.items()
]

EVERY = [*STUDIES, *PORTFOLIOS, *SPACES, *JSON_ROWS]
