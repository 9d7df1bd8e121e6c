"""Wrong values of every kind, for every place where a value is given.

A case is a command, or a call in Python, that must be refused: in a sentence, with the value in
it, and with nothing changed.
"""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from sdmbtl.environments import make_family
from sdmbtl.selectors import make_selector
from sdmbtl.studies import Study
from sdmbtl.training import make_trainer
from sdmbtl_lab.matrices import load_matrix

N = 4
GOOD = [1.0, 2.0, 3.0, 4.0]
HUGE = "9" * 30


@dataclass(frozen=True)
class Case:
    """Something that must be refused.

    Attributes:
        name: What it is.
        command: The words of a command; "{study}" and others stand for paths.
        call: Or a call, with the things that paths and studies are kept in.
        given: What the command reads from the standard input.
        shown: What the message must have of the value.
    """

    name: str
    command: tuple[str, ...] = ()
    call: Any = None
    given: str | bytes | None = None
    shown: str = ""


# -- rows ----------------------------------------------------------------------------------------

#: Rows as JSON, and what of them is named.
JSON_ROWS = {
    "no row": ("", "standard input"),
    "blank": ("  \n ", "standard input"),
    "not JSON": ("[1, 2,", "[1, 2,"),
    "a text": ('"1234"', "str"),
    "a number": ("5", "int"),
    "null": ("null", "NoneType"),
    "true": ("true", "bool"),
    "empty": ("[]", "shape (0,)"),
    "too short": ("[1, 2, 3]", "shape (3,)"),
    "too long": ("[1, 2, 3, 4, 5]", "shape (5,)"),
    "three-dimensional": (json.dumps([[[1.0]]] * N), "(4, 1, 1)"),
    "deep": (json.dumps([[[[1.0]]]] * N), "(4, 1, 1, 1)"),
    "ragged": ("[[1, 2], [3], [4], [5]]", "[[1, 2], [3]"),
    "a nested one": ("[1, 2, 3, [4]]", "[1, 2, 3, [4]]"),
    "texts": ('["1", "2", "3", "4"]', "['1', '2'"),
    "one text": ('[1, 2, 3, "4"]', "'4'"),
    "a text beside null": ('[null, 2, 3, "4"]', "'4'"),
    "a truth value": ("[1, 2, 3, true]", "True"),
    "truth values": ("[true, true, false, true]", "True"),
    "an object inside": ('[1, 2, 3, {"a": 1}]', "{'a': 1}"),
    "infinite": ("[1, 2, Infinity, 4]", "inf"),
    "minus infinite": ("[-Infinity, 2, 3, 4]", "-inf"),
    "beyond floats": ("[1e400, 2, 3, 4]", "inf"),
    "a huge whole number": (f"[1{'0' * 400}, 2, 3, 4]", "100000"),
    "infinite episodes": ("[[Infinity, -Infinity], [1, 1], [1, 1], [1, 1]]", "inf"),
    "only null": ("[null, null, null, null]", "only NaN"),
    "only NaN": ("[NaN, NaN, NaN, NaN]", "only NaN"),
    "no episodes": ("[[], [], [], []]", "(4, 0)"),
    "two rows without ids": ("[1, 2, 3, 4]\n[1, 2, 3, 4]\n", "name one policy"),
}

REPORTS = {
    "without returns": ({}, "Got []"),
    "returns is a text": ({"returns": "1234"}, "Got ['returns']"),
    "returns is a number": ({"returns": 4}, "Got ['returns']"),
    "returns is null": ({"returns": None}, "needs its row"),
    "a misspelt key": ({"returns": GOOD, "contxt": {}}, "contxt"),
    "attributes are a list": ({"returns": GOOD, "attributes": [1]}, "attributes"),
    **{
        f"the id is {value!r}": ({"returns": GOOD, "id": value}, str(value))
        for value in ("77", "0", 1.0, 1.5, True, False, None, [1], {"a": 1}, 77, -1, 10**30)
    },
    **{
        f"the context is {value!r}": ({"returns": GOOD, "context": value}, str(value)[:20])
        for value in ("a=1", 3, None, [0.0, 1.0])
    },
    "an empty context": ({"returns": GOOD, "context": {}}, "An empty one"),
    "a context in part": ({"returns": GOOD, "context": {"a": 0.0}}, "has no 'b'"),
    "another dimension": ({"returns": GOOD, "context": {"a": 0.0, "c": 1.0}}, "'c'"),
    **{
        f"a context with {value!r}": (
            {"returns": GOOD, "context": {"a": value, "b": 1.0}},
            str(value)[:20],
        )
        for value in ("low", "0.0", None, True, [0.0], float("nan"), float("inf"), -5.0, 1e300)
    },
    "a context beside another id": (
        {"returns": GOOD, "id": 1, "context": {"a": 0.37, "b": 0.77}},
        "Policy 1 is the one for",
    ),
    **{
        f"{name} is {value!r}": (
            {"returns": GOOD, "context": {"a": 0.5, "b": 1.0}, name: value},
            "Got",
        )
        for name, values in {
            "width": ("wide", -1, 2, True),
            "parent": ("none", -1, 1.5),
            "steps": (0, "many", 2.5),
        }.items()
        for value in values
    },
    "a parent that is not there": (
        {"returns": GOOD, "context": {"a": 0.5, "b": 1.0}, "width": 0.5, "parent": 55},
        "Trial 55 does not exist",
    ),
    **{
        f"source_return is {value!r}": (
            {"returns": [None, *GOOD[1:]], "context": {"a": 0.5, "b": 1.0}, "source_return": value},
            str(value)[:20],
        )
        for value in ("3", True, [1.0], float("inf"), float("nan"))
    },
}

PYTHON_ROWS = {
    "three-dimensional": (np.ones((N, 2, 2)), "(4, 2, 2)"),
    "transposed": (np.ones((2, N)), "(2, 4)"),
    "truth values": (np.array([True] * N), "True"),
    "texts": (np.array(["1"] * N), "'1'"),
    "complex": (np.ones(N, dtype=complex), "1.+0.j"),
    "times": (np.array([1] * N, dtype="datetime64[s]"), "1970"),
    "infinite": ([np.inf, 1, 1, 1], "inf"),
    "infinite episodes": ([[np.inf, -np.inf]] * N, ""),
    "a number": (3.0, "shape ()"),
    "a text": ("1234", "'1234'"),
    "a set": ({1.0, 2.0}, "{1.0"),
    "an object": ({"a": 1.0}, "{'a'"),
    "huge": ([10**400, 1, 1, 1], "10000"),
    "a mixture": ([1.0, None, "3", True], "'3'"),
    "bytes": ([b"1", 1, 1, 1], "b'1'"),
    "nothing": (None, "needs its row"),
    "only NaN": ([np.nan] * N, "only NaN"),
}

PYTHON_TRIALS = {
    repr(value): (value, shown)
    for value, shown in [
        (77, "77"),
        (-1, "-1"),
        (1.0, "1.0"),
        (True, "True"),
        ("0", "0"),
        (None, "None"),
        ({"a": 0.0}, "'b'"),
        ({"a": 0.0, "b": "x"}, "x"),
        ({"a": 0.0, "b": True}, "True"),
        ({"a": 0.0, "b": np.nan}, "nan"),
        ({"a": 0.0, "b": 900.0}, "900"),
        ({"a": 0.0, "b": 1.0, "c": 1.0}, "'c'"),
        ([0.0], "1"),
        ([0.0, 1.0, 2.0], "3"),
        ([[0.0, 1.0]], "[[0.0, 1.0]]"),
    ]
}


def row_cases():
    for name, (text, shown) in JSON_ROWS.items():
        yield Case(f"row: {name}", ("tell", "{study}", "-", "--id", "1"), given=text, shown=shown)
    for name, (report, shown) in REPORTS.items():
        text = json.dumps(report)
        yield Case(f"report: {name}", ("tell", "{study}", "-"), given=text, shown=shown)
    for name, (row, shown) in PYTHON_ROWS.items():
        yield Case(f"Study.tell, {name}", call=lambda s, row=row: s.study.tell(1, row), shown=shown)
        call = lambda s, row=row: s.study.selector.tell(1, row)  # noqa: E731
        yield Case(f"Selector.tell, {name}", call=call, shown=shown)
    for name, (trial, shown) in PYTHON_TRIALS.items():
        call = lambda s, t=trial: s.study.tell(t, GOOD)  # noqa: E731
        yield Case(f"tell trial {name}", call=call, shown=shown)
        if name not in ("{'a': 0.0, 'b': 900.0}",):
            call = lambda s, t=trial: s.study.forget(t)  # noqa: E731
            yield Case(f"forget trial {name}", call=call, shown=shown)


# -- contexts ------------------------------------------------------------------------------------

CONTEXTS = {
    "a=1": "'b'",
    "a=1 b=2 c=3": "'c'",
    "a=x b=1": "x",
    "a=nan b=1": "nan",
    "a=true b=1": "True",
    "a=[1] b=1": "[1]",
    "a=null b=1": "None",
    "a": "'a'",
    "=1": "=1",
    "{": "{",
    "[0, 1]": "[0",
    '{"a": 1}': "'b'",
    "a=1 a=2 b=1": "twice",
    "": "''",
}


def context_cases():
    for text, shown in CONTEXTS.items():
        words = ("--context", text)
        yield Case(
            f"tell {words}", ("tell", "{study}", "-", *words), given="[1,2,3,4]", shown=shown
        )
        yield Case(f"portfolio {words}", ("portfolio", "{study}", *words), shown=shown)
    for name, (trial, shown) in PYTHON_TRIALS.items():
        if name not in ("{'a': 0.0, 'b': 900.0}",) and not isinstance(trial, int | float):
            call = lambda s, t=trial: s.study.portfolio().choose(t)  # noqa: E731
            yield Case(f"choose {name}", call=call, shown=shown)


# -- spaces --------------------------------------------------------------------------------------

RANGE = {"low": "0.1", "high": "2.0", "levels": "3", "scale": '"log"'}
FIELDS = {
    "low": ('"a"', "true", "nan", "inf", "[1]", "-1", "0", "5.0", "1979-05-27"),
    "high": ('"b"', "false", "nan", "inf", "0.01", "{}"),
    "levels": ("0", "-1", "2.5", '"many"', "true", "1" + "0" * 12, "[3]"),
    "scale": ('"logarithmic"', "1", "true", "[]"),
    "discrete": ('"yes"', "1", "[]"),
    "colour": ("1",),
}
VALUES = (
    "3",
    '"low"',
    "[]",
    '["a", "b"]',
    "[1, true]",
    "[1, 1]",
    "[nan, 1]",
    "[inf, 1]",
    "[[1, 2]]",
)
RETURNS = {
    "min = 0": "'max'",
    "min = 1\nmax = 1": "1",
    "min = 2\nmax = 1": "2",
    'min = "low"\nmax = 1': "low",
    "min = true\nmax = 2": "True",
    "min = nan\nmax = 1": "nan",
    "min = 0\nmax = inf": "inf",
    "min = -1.7e308\nmax = 1.7e308": "1.7e+308",
    "min = 0\nmax = 1\nmean = 2": "'mean'",
}
TEXTS = {
    "": "None",
    "dimensions = 3": "3",
    "[dimensions]": "{}",
    "[dimensions]\na = 3": "3",
    "[dimensions.a]": "'low'",
    "[dimensions.a]\nlow = 1": "'high'",
    "[dimensions.a]\nvalues = [1, 2]\nlow = 1": "'low'",
    "[dimensions.a]\nvalues = [1, 2]\nvalues = [3]": "TOML",
    "[dimension.a]\nvalues = [1, 2]": "'dimension'",
    "this is not TOML": "TOML",
    "[dimensions.a]\nvalues = [1, 2]\n[returns.min]\nx = 1": "'max'",
}


def space_cases():
    def case(name, text, shown):
        return Case(
            f"space: {name}", ("ask", "{new}", "--space", "{space}"), given=text, shown=shown
        )

    for field, values in FIELDS.items():
        for value in values:
            table = "\n".join(f"{k} = {v}" for k, v in {**RANGE, field: value}.items())
            shown = f"'{field}'" if field == "colour" else value.strip('"')[:8].split(".")[0]
            shown = {"true": "True", "false": "False", "1979-05-": "date"}.get(shown, shown)
            yield case(f"{field} = {value}", f"[dimensions.a]\n{table}\n", shown)
    for value in VALUES:
        shown = {"3": "3", '"low"': "low", "[]": "", '["a", "b"]': "a", "[1, true]": "True"}
        text = f"[dimensions.a]\nvalues = {value}\n"
        yield case(f"values = {value}", text, shown.get(value, value.strip("[").split(",")[0]))
    for table, shown in RETURNS.items():
        text = f"[dimensions.a]\nvalues = [1, 2]\n[returns]\n{table}\n"
        yield case(f"returns {table!r}", text, shown)
    for text, shown in TEXTS.items():
        yield case(repr(text), text, shown)


# -- numbers -------------------------------------------------------------------------------------

WHOLE = ("1.5", "nan", "inf", "many", "1e3", "0x10")
REAL = ("nan", "-1", "some", "1,5")
TIMES = ("soon", "-5", "nan", "1e3", "9" * 400, "5 weeks")
RUN = ("run", "CartPole", "--out", "{new}")
TRAINED = "{trained}"

#: For each command its whole numbers with one that is too low, and other options with wrong ones.
NUMBERS = {
    RUN: {
        "--budget": ("0", *WHOLE),
        "--total-steps": ("0", *WHOLE),
        "--patience": ("0", *WHOLE),
        "--seed": ("-1", *WHOLE),
        "--levels": ("0", HUGE, *WHOLE),
        "--batch": ("0", *WHOLE),
        "--steps": ("0", *WHOLE),
        "--specialist-steps": ("0", *WHOLE),
        "--episodes": ("0", *WHOLE),
        "--retries": ("-1", *WHOLE),
        "--min-gain": (*REAL, "2"),
        "--width": (*REAL, "1", "inf"),
        "--time": TIMES,
        "--log-every": ("0", *TIMES),
    },
    ("resume", TRAINED): {
        "--budget": ("0", *WHOLE),
        "--total-steps": ("0", *WHOLE),
        "--patience": ("0", *WHOLE),
        "--min-gain": (*REAL, "2"),
        "--time": TIMES,
        "--log-every": ("0", *TIMES),
    },
    ("ask", "{study}"): {"-n": ("0", *WHOLE), "--seed": ("-1", *WHOLE)},
    ("ask", "{new}", "--space", "{good_space}"): {
        "--seed": ("-1", *WHOLE),
        "--width": (*REAL, "1"),
        "--specialist-steps": ("0", *WHOLE),
    },
    ("tell", "{study}", "--failed"): {"--id": ("-1", "77", HUGE, *WHOLE)},
    ("evaluate", TRAINED): {
        "--episodes": ("0", HUGE, *WHOLE),
        "--seed": ("-1", *WHOLE),
        "--samples": ("0", HUGE, *WHOLE),
    },
    ("portfolio", "{study}"): {"--smallest": (*REAL, "inf")},
    ("watch", "{study}"): {"--port": ("-1", "65536", HUGE, *WHOLE)},
    ("plot", "{study}", "-o", "{new}/map.png"): {
        "--what": ("", "maps"),
        "--x": ("", "mass"),
        "--context": ("a", "{"),
    },
    ("bench", "synthetic", "--out", "{new}"): {
        "--dim": ("0", "4", "-3", *WHOLE),
        "--noise": (*REAL, "inf"),
        "--matrices": ("0", *WHOLE),
        "--rounds": ("0", *WHOLE),
        "--jobs": ("0", *WHOLE),
    },
    ("bench", "real", "--out", "{new}"): {
        "--matrices": ("0", *WHOLE),
        "--policies": ("0", "-1", "1.5", "many", "6;12", "²"),
        "--jobs": ("0", *WHOLE),
    },
    ("matrix", "CartPole", "--out", "{new}"): {
        "--seeds": ("0", *WHOLE),
        "--jobs": ("0", *WHOLE),
        "--seed": ("-1", *WHOLE),
        "--episodes": ("0", *WHOLE),
        "--steps": ("0", *WHOLE),
        "--multi-task": ("0", "-1", "many"),
    },
}


def number_cases():
    for command, options in NUMBERS.items():
        for option, values in options.items():
            for value in values:
                words = (*command, option, value)
                yield Case(" ".join(words)[:70], words, shown=value[:25])
    for value in ("x", "-1", "1.5", HUGE):
        yield Case(f"forget {value}", ("forget", "{study}", "--", value), shown=value)


OPEN = {
    "seed": (-1, 1.5, "a", None, True),
    "episodes": (0, 2.5, "ten", True),
    "batch": (0, "two", 1.5),
    "retries": (-1, "no"),
    "region_contexts": (0, "x"),
    "return_range": ((1, 1), (2, 1), (0, np.inf), (np.nan, 1), 5, "0..1", (0, 1, 2), (True, 2)),
    "selector_options": ({"speed": 3}, {"models": 3}, {"models": ["platau"]}, {"falls": {"a": -1}}),
    "width": (-1, 2, "wide", np.nan),
    "init": ("random", 3),
    "specialist_steps": (0, "x", 1.5),
    "colour": (1,),
}
RUNS = {
    "budget": (0, -1, 1.5, "x", True),
    "total_steps": (0, "x", 2.5),
    "time_limit": (-1, np.nan, "1h", np.inf),
    "min_gain": (-1, np.nan, 2, "x"),
    "log_every": (0, -1, np.nan),
    "progress": ("yes",),
    "patience": (0, 1.5, "x"),
}


def python_cases():
    def opened(s, name, value):
        extra = (
            {"selector": "generalist-first"}
            if name in ("width", "init", "specialist_steps")
            else {}
        )
        return Study.open(s.new, space=s.space, **{**extra, name: value})

    for name, values in OPEN.items():
        for value in values:
            call = lambda s, n=name, v=value: opened(s, n, v)  # noqa: E731
            one = value[0] if isinstance(value, tuple) and value[1] != np.inf else value
            shown = "" if isinstance(value, dict) else str(one)[:12].rpartition(", ")[2].strip("()")
            yield Case(
                f"open {name}={value!r}", call=call, shown="colour" if name == "colour" else shown
            )
    for name, values in RUNS.items():
        for value in values:
            more = {"budget": 9} if name != "budget" else {}
            more |= {"min_gain": 0.1} if name == "patience" else {}
            call = lambda s, n=name, v=value, m=more: s.trained.run(**{**m, n: v})  # noqa: E731
            yield Case(f"run {name}={value!r}", call=call, shown=str(value))
    for value in (0, -1, 1.5, "x", True):
        yield Case(f"ask({value!r})", call=lambda s, v=value: s.study.ask(v), shown=str(value))
        call = lambda s, v=value: s.trained.evaluate(episodes=v)  # noqa: E731
        yield Case(f"evaluate(episodes={value!r})", call=call, shown=str(value))
    for value in (-1, np.nan, "x", np.inf, True):
        call = lambda s, v=value: s.study.portfolio().smallest(v)  # noqa: E731
        yield Case(f"smallest({value!r})", call=call, shown=str(value))
    for value in ([], [{"a": 1}], 3, "context"):
        call = lambda s, v=value: s.trained.evaluate(v)  # noqa: E731
        yield Case(
            f"evaluate({value!r})",
            call=call,
            shown="empty" if value == [] else str(value)[2:4].strip(),
        )


# -- paths, and what stands in files ---------------------------------------------------------------

STUDY_COMMANDS = (
    ("status",),
    ("resume",),
    ("evaluate",),
    ("targets",),
    ("doctor",),
    ("detect",),
    ("portfolio",),
    ("report",),
    ("watch",),
    ("plot", "-o", "{new}/map.png"),
    ("curves",),
    ("ask",),
    ("tell", "--failed"),
    ("forget", "0"),
)


def path_cases():
    for name, *more in STUDY_COMMANDS:
        for place in ("{missing}", "{file}", "{empty_directory}", "{binary}"):
            words = (name, place, *more)
            yield Case(" ".join(words), words, shown=place)
    for place in ("{missing}", "{empty_directory}", "{binary}", "{empty}"):
        yield Case(f"tell the row {place}", ("tell", "{study}", place, "--id", "1"), shown=place)
        words = ("ask", "{new}", "--space", place)
        yield Case(" ".join(words), words, shown=place)
        for command in (
            ("describe",),
            ("bench", "show"),
            ("bench", "real", "--out", "{new}", "--data"),
        ):
            yield Case(" ".join((*command, place)), (*command, place), shown=place)
    binary = b"\xff\xfe\x00[1, 2]"
    yield Case("binary input", ("tell", "{study}", "-"), given=binary, shown="standard input")
    for words in (
        ("portfolio", "{study}", "--export", "{file}"),
        ("portfolio", "{study}", "--figure", "{empty_directory}"),
        ("portfolio", "{study}", "--figure", "{missing}/figure.xyz"),
        ("plot", "{study}", "-o", "{missing}/figure.png"),
        ("plot", "{study}", "-o", "{empty_directory}"),
        ("report", "{study}", "-o", "{missing}/page.html"),
        ("report", "{study}", "-o", "{empty_directory}"),
        ("run", "CartPole", "--out", "{file}"),
        ("run", "CartPole", "--out", "{new}", "--tensorboard", "{file}"),
        ("bench", "synthetic", "--out", "{file}", "--matrices", "1", "--rounds", "1"),
        ("curves", "{study}", "--out", "{file}/x.csv"),
    ):
        yield Case(" ".join(words), words, shown="")


# -- names ---------------------------------------------------------------------------------------


def name_cases():
    for words, shown in [
        ((*RUN, "--selector", "gpmbtl"), "gpmbtl"),
        ((*RUN, "--trainer", "PPO2"), "PPO2"),
        ((*RUN, "--space", "widest"), "widest"),
        ((*RUN, "--init", "zero"), "zero"),
        ((*RUN, "--physics", "moon"), "moon"),
        ((*RUN, "--set", "gama=0.9"), "gama"),
        ((*RUN, "--set", "gamma"), "gamma"),
        ((*RUN, "--set", "gamma=high"), "high"),
        ((*RUN, "--set", "gamma=nan"), "nan"),
        ((*RUN, "--set", "total_timesteps=-1"), "-1"),
        ((*RUN, "--set", "total_timesteps=many"), "many"),
        ((*RUN, "--set", "num_envs=0"), "0"),
        ((*RUN, "--selector-option", "sped=1"), "sped"),
        ((*RUN, "--selector", "random", "--selector-option", "x=1"), "x"),
        ((*RUN, "--option", "gravity=1"), "gravity"),
        ((*RUN, "--option", "gravity"), "gravity"),
        (("run", "CartPol", "--out", "{new}"), "CartPol"),
        (("run", "gym:Nothing-v9", "--out", "{new}"), "Nothing-v9"),
        (("run", "nothing:make", "--out", "{new}", "--space", "{good_space}"), "nothing"),
        (("run", "json:nothing", "--out", "{new}", "--space", "{good_space}"), "nothing"),
        (("run", "", "--out", "{new}"), "''"),
        (("ask", "{new}", "--space", "{good_space}", "--selector", "atuo"), "atuo"),
        (("ask", "{study}", "--attribute", "job"), "job"),
        (("ask", "{study}", "--selector", "random"), "--selector"),
        (("tell", "{study}", "-", "--colour", "red"), "--colour"),
        (("describe", "cartpoll"), "cartpoll"),
        (("bench", "real", "--out", "{new}", "--data", "cartpoll"), "cartpoll"),
        (("bench", "synthetic", "--out", "{new}", "--selectors", "atuo"), "atuo"),
        (("bench", "synthetic", "--out", "{new}", "--data", "other"), "other"),
        (("bench", "synthetic", "--out", "{new}", "--format", "word"), "word"),
        (("trainers", "PPO2"), "PPO2"),
        (("statsu", "{study}"), "statsu"),
        (("matrix", "CartPol", "--out", "{new}"), "CartPol"),
    ]:
        yield Case(" ".join(words)[:70], words, shown=shown)
    for value in ("atuo", 3, None, ""):
        for name, call in {
            "selector": lambda s, v=value: make_selector(v, s.space),
            "family": lambda s, v=value: make_family(v),
            "trainer": lambda s, v=value: make_trainer(v, make_family("CartPole"), s.space),
            "matrix": lambda s, v=value: load_matrix(v),
        }.items():
            yield Case(f"{name} {value!r}", call=call, shown=str(value))


CASES = [
    *row_cases(),
    *context_cases(),
    *space_cases(),
    *number_cases(),
    *python_cases(),
    *path_cases(),
    *name_cases(),
]
