"""Wrong values of every kind: each is refused in a sentence that names it, and changes nothing."""

import hashlib
import json
import re

import numpy as np
import pytest

from sdmbtl import ContextSpace
from sdmbtl.errors import SdmbtlError
from sdmbtl.studies import Study

SPACE = ContextSpace(a=[0.0, 1.0], b=[0.0, 1.0])
GOOD = [1.0, 2.0, 3.0, 4.0]
HUGE = "9" * 30

#: A message has the value, and also what was expected or what to do.
ADVICE = re.compile(
    r"must|should|needs?\b|takes|is (a|an|not|the|none|neither|for|either|auto|True)\b|are |has "
    r"|have |one of|known|There is|no such|cannot|Give|Leave|Correct|Check|Write|only|Missing"
    r"|exist for|finite",
    re.IGNORECASE,
)


class Stage:
    """A study with a finished and a pending policy, and paths of every wrong kind."""

    def __init__(self, root):
        self.root, self.new = root, root / "new"
        self.study = Study.open(root / "study", space=SPACE, selector="random", seed=1)
        self.study.tell(self.study.ask(), GOOD)
        self.study.ask()
        (root / "folder").mkdir()
        (root / "file").write_text("[1, 2]")
        (root / "binary").write_bytes(b"\xff\xfe\x00\x01" * 9)
        (root / "good.toml").write_text("[dimensions.length]\nvalues = [1, 2]\n")

    def contents(self):
        """Return the hash of every file but locks."""
        files = [p for p in self.root.rglob("*") if p.is_file() and p.suffix != ".lock"]
        return {p: hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    return Stage(tmp_path_factory.mktemp("bad"))


@pytest.fixture
def unchanged(stage):
    before = stage.contents()
    yield
    assert stage.contents() == before, "something was recorded"
    assert not stage.new.exists(), "something was left behind"


def check(text, shown):
    assert re.sub(r"\s+", "", shown) in re.sub(r"\s+", "", text), text
    assert ADVICE.search(text), text


# -- commands --------------------------------------------------------------------------------------

WHOLE = ("1.5", "nan", "many", "1e3")
RUN = ("run", "CartPole", "--out", "{new}")
#: Options with wrong values, for each command.
VALUES = {
    RUN: {
        "--levels": (HUGE, "0", *WHOLE),
        "--seed": ("-1",),
        "--time": ("soon", "-5"),
        "--min-gain": ("1,5", "-1", "2"),
        **dict.fromkeys(("--budget", "--total-steps", "--episodes", "--steps", "--jobs"), ("0",)),
        "--set": ("gama=0.9", "gamma=high", "gamma=nan", "total_timesteps=-1", "num_envs=0"),
        "--option": ("gravity=1",),
        "--evaluate": ("some",),
        "--executor-option": ("address",),
        "--selector": ("bset",),
        "--selector-option": ("x=1",),
        "--trainer": ("pp",),
        "--space": ("broad",),
    },
    ("ask", "{study}"): {"-n": ("0", *WHOLE), "--lease": ("soon",)},
    ("ask", "{new}", "--space", "{good.toml}"): {
        "--seed": ("-1", *WHOLE),
        "--selector": ("atuo",),
        "--selector-option": ("sped=1",),
    },
    ("tell", "{study}", "--failed"): {"--id": ("77", "-1", HUGE, *WHOLE)},
    ("portfolio", "{study}"): {
        "--context": ("a=1 b=2 c=3", "a=x b=1", "a=nan b=1", "a=true b=1", "a", "=1", "{"),
    },
    ("report", "{study}", "--live"): {"--port": ("-1", "65536", HUGE, *WHOLE)},
}
#: Commands that open a study.
OPEN = ("status", "resume", "evaluate", "doctor", "portfolio", "report", "ask", "play")
NAMES = [
    (("run", "CartPol", "--out", "{new}"), "CartPol"),
    (("run", "gym:Nothing-v9", "--out", "{new}"), "Nothing-v9"),
    (("run", "nothing:make", "--out", "{new}", "--space", "{good.toml}"), "nothing"),
    (("run", "json:nothing", "--out", "{new}", "--space", "{good.toml}"), "nothing"),
    (("run", "own:make", "--out", "{new}"), "--space FILE.toml"),
    (("run", "", "--out", "{new}"), "''"),
    (("run", "CartPole", "--out", "{file}"), "file"),
    (("run", "CartPole", "--out", "{new}", "--space", "{good.toml}", "--levels", "3"), "levels"),
    (("tell", "{study}", "-", "--colour", "red"), "--colour"),
    (("portfolio", "{study}", "--export", "{file}"), "file"),
    *[(("ask", "{new}", "--space", place), place) for place in ("{missing}", "{folder}")],
    *[(("tell", "{study}", place, "--id", "1"), place) for place in ("{folder}", "{binary}")],
]


def command_cases():
    for command, options in VALUES.items():
        for option, values in options.items():
            for value in values:
                named = "" if option == "--context" else value.partition("=")[0][:25]
                yield (*command, option, value), named
    for name in OPEN:
        for place in ("{missing}", "{file}", "{folder}", "{binary}"):
            yield (name, place), place
    yield from NAMES


@pytest.mark.parametrize(("words", "shown"), [*command_cases()], ids=lambda x: str(x)[:60])
def test_wrong_words_of_commands(command, stage, unchanged, words, shown):
    places = {f"{{{name}}}" for word in words for name in re.findall(r"\{([\w.]+)\}", word)}
    for place in places:
        path = str(stage.root / place[1:-1])
        words = [word.replace(place, path) for word in words]
        shown = shown.replace(place, path)
    check(command.error(*words), shown)


# -- Python ----------------------------------------------------------------------------------------

ROWS = [
    *(["1", 2, 3, 4], [True, 2, 3, 4], [[1, 2], [3], [4, 5], [6, 7]], [np.inf, 1, 1, 1]),
    *([10**400, 1, 1, 1], [1 + 2j, 1, 1, 1], [None] * 4, [[], [], [], []], [1, 2, 3], "1234"),
    *({"a": 1}, 5.0, np.ones((2, 4)), np.array([1] * 4, "datetime64[s]"), None),
]
TRIALS = [
    *(77, -1, 1.0, "0", None, {"a": 0.0}, {"a": 0.0, "b": "x"}, {"a": 0.0, "b": np.nan}),
    *({"a": 0.0, "b": 1.0, "c": 1.0}, [0.0], [[0.0, 1.0]]),
]
OPENED = {
    "seed": (-1, 1.5, "a", None, True),
    "episodes": (0, 2.5, "ten"),
    "batch": (0, "two"),
    "retries": (-1, "no"),
    "return_range": ((1, 1), (2, 1), (0, np.inf), (np.nan, 1), 5, (True, 2)),
    "selector_options": ({"speed": 3}, {"models": 3}, {"models": ["platau"]}, {"falls": {"a": -1}}),
    "selector": ("atuo", 3, None, ""),
}
REPORTS = [
    {"context": {"a": 0.5, "b": 1.0}, name: value}
    for name, values in {
        "width": ("wide", -1, 2, True),
        "parent": ("none", -1, 1.5),
        "steps": (0, "many"),
        "source_return": ("3", True, [1.0]),
    }.items()
    for value in values
]


@pytest.mark.parametrize("row", ROWS, ids=range(len(ROWS)))
def test_wrong_rows(stage, unchanged, row):
    for owner in (stage.study, stage.study.selector):
        with pytest.raises(SdmbtlError) as caught:
            owner.tell(1, row)
        check(str(caught.value), "")


@pytest.mark.parametrize("trial", TRIALS, ids=str)
def test_wrong_trials(stage, unchanged, trial):
    with pytest.raises(SdmbtlError):
        stage.study.tell(trial, GOOD)
    with pytest.raises(SdmbtlError):
        stage.study.forget(trial)


@pytest.mark.parametrize("report", REPORTS, ids=str)
def test_wrong_sources_of_rows(command, stage, unchanged, report):
    returns = [None, *GOOD[1:]] if "source_return" in report else GOOD
    given = json.dumps({"returns": returns, **report})
    check(command.error("tell", stage.study.path, "-", given=given), "Got")


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in OPENED.items() for value in values]
)
def test_wrong_settings_of_studies(stage, unchanged, name, value):
    with pytest.raises(SdmbtlError) as caught:
        Study.open(stage.new, space=SPACE, **{name: value})
    check(str(caught.value), "")
