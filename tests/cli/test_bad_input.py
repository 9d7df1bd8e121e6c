"""A campaign of bad input: each is refused in a sentence, and nothing wrong is recorded."""

import hashlib
import re
from types import SimpleNamespace

import pytest
from bad_input import CASES, GOOD

from sdmbtl import ContextSpace
from sdmbtl.errors import SdmbtlError
from sdmbtl.studies import Study

SPACE = ContextSpace(a=[0.0, 1.0], b=[0.0, 1.0])

#: What a message says besides the value: what was expected, or what to do.
EXPECTATION = re.compile(
    r"must|should|needs?\b|takes|is (a|an|not|the|none|neither|for|either|auto|True)\b|are |has "
    r"|have |one of|known|There is|no such|cannot|Give|Leave|Correct|Check|Write|only|Missing"
    r"|exist for",
    re.IGNORECASE,
)


@pytest.fixture(scope="module")
def stage(tmp_path_factory, trained):
    """A study with a finished and a pending policy, and paths of every wrong kind."""
    root = tmp_path_factory.mktemp("bad")
    study = Study.open(root / "study", space=SPACE, selector="random", seed=1)
    study.tell(study.ask(), GOOD)
    study.ask()
    (root / "empty_directory").mkdir()
    (root / "file").write_text("[1, 2]")
    (root / "empty").touch()
    (root / "binary").write_bytes(b"\xff\xfe\x00\x01" * 9)
    (root / "good.toml").write_text("[dimensions.a]\nvalues = [1, 2]\n")
    places = {name: root / name for name in ("study", "missing", "file", "empty_directory")}
    places |= {name: root / name for name in ("empty", "binary", "new")}
    places |= {"space": root / "space.toml", "good_space": root / "good.toml"}
    places["trained"] = trained[0]
    return SimpleNamespace(
        root=root,
        places={name: str(path) for name, path in places.items()},
        study=study,
        space=SPACE,
        new=root / "new",
        trained=Study.open(trained[0]),
    )


def contents(stage):
    """Every file, but for locks and the input of the case."""
    paths = [*stage.root.rglob("*"), *stage.trained.path.rglob("*")]
    files = [p for p in paths if p.is_file() and p.suffix != ".lock" and p.name != "space.toml"]
    return {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


#: Of so many cases one is tried every time, all of them with `-m slow`.
SOME = 10


def marked(number, case):
    return pytest.param(case, id=case.name, marks=pytest.mark.slow if number % SOME else ())


@pytest.mark.parametrize("case", [marked(number, case) for number, case in enumerate(CASES)])
def test_bad_input_is_refused(case, stage, command):
    before = contents(stage)
    text = _refused(case, stage, command)
    assert _unwrapped(_placed(case.shown, stage)) in _unwrapped(text), text
    assert EXPECTATION.search(text), text
    assert contents(stage) == before, "something was recorded"
    assert not stage.new.exists(), "something was left behind"


def _refused(case, stage, command):
    """What is said when a case is refused."""
    if case.call is not None:
        with pytest.raises((SdmbtlError, OSError)) as caught:
            case.call(stage)
        return str(caught.value)
    given = case.given
    if "{space}" in case.command:
        (stage.root / "space.toml").write_text(given)
        given = None
    return command.error(*(_placed(word, stage) for word in case.command), given=given)


def _placed(text, stage):
    """A text with the paths that names in braces stand for."""
    for name, path in stage.places.items():
        text = text.replace(f"{{{name}}}", path)
    return text


def _unwrapped(text):
    """A text without the frame and the line ends of a terminal."""
    return re.sub(r"[\s│]+", "", text)


def test_the_campaign_is_large(capsys):
    assert len({case.name for case in CASES}) >= 300
    with capsys.disabled():
        print(f"\n{len(CASES)} cases of bad input")
