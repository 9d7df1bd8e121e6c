"""What the README shows runs, and its numbers are those of the result files."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.core import TyperGroup

from sdmbtl import ContextSpace
from sdmbtl.cli import app
from sdmbtl.selectors import PredictiveSelector

ROOT = Path(__file__).parent.parent
#: The pages whose code blocks run, one after the other, in one folder.
PAGES = (
    *("README.md", "docs/selectors.md", "docs/environments.md", "docs/command-line.md"),
    "docs/report.md",
)
#: The pages that run each in a folder of its own, with the number of their commands.
PAGES_ALONE = {
    "docs/tutorial.md": 6,
    "docs/own-training.md": 4,
    "docs/choosing.md": 0,
    "docs/faq.md": 0,
    "docs/reproducing.md": 2,
    "docs/matrices.md": 0,
    "docs/regions.md": 0,
    "docs/results.md": 2,
    "docs/scale.md": 0,
}
#: Pages that take long, because what they train is compiled first; otherwise the same.
PAGES_SLOW = {"docs/crop.md": 3, "docs/traffic.md": 1, "docs/trainers.md": 1}
#: What they need.
NEEDED = {"docs/crop.md": "pcse", "docs/traffic.md": "libsumo"}
#: Pages whose blocks other tests run, and one that says itself that it is not run.
ELSEWHERE = {
    "docs/structures.md": "test_the_model_of_ones_own_works, here",
    "docs/recipes.md": "tests/environments/test_recipes.py, tests/callbacks/test_recipes.py",
    "docs/cyclesgym.md": "**Not run here.**",
}

#: What makes the long commands short; the pages show them as users will give them.
SHORTER = {
    "CartPole": ["--levels", "3", "--steps", "4096", "--episodes", "2"],
    "--levels": ["--steps", "4096", "--episodes", "2"],
    "my_envs:make_pendulum": ["--set", "num_envs=2", "--set", "num_steps=64"],
    "gym:LunarLander-v3": ["--set", "num_envs=2", "--set", "num_steps=64", "--episodes", "1"],
    "--dim": ["--matrices", "2", "--rounds", "6"],
    "real": ["--matrices", "1"],
    "figures": ["--timed", "2"],
    "matrix": ["--multi-task", "", "--levels", "2"],
    "Crop": ["--levels", "2", "--steps", "2048", "--episodes", "1"],
    "CropPlanning": ["--steps", "760", "--episodes", "1"],
    "Traffic": ["--levels", "2", "--steps", "256", "--episodes", "1"],
    "sb3": ["--budget", "1", "--set", "num_envs=2", "--set", "num_steps=64"],
}


def blocks(page):
    """(language, text) of the code blocks of a page, in order."""
    text = (ROOT / page).read_text()
    return re.findall(r"```(\w+)\n(.*?)```", text, flags=re.DOTALL)


def commands(text):
    return [
        shlex.split(line, comments=True) for line in text.splitlines() if line.startswith("sdmbtl ")
    ]


def shorter(command):
    if command[1] == "trainers":  # which only lists
        return command
    for word, options in SHORTER.items():
        if word in command and options[0] not in command:
            command = [*command, *options]
    options = {"--budget": "3", "--total-steps": "9000", "--seeds": "1", "--data": "bipedal-walker"}
    options |= {"--levels": "3", "--samples": "5"}
    for option, value in options.items():
        if option in command:
            command[command.index(option) + 1] = value
    if {"my_envs:make_pendulum", "gym:LunarLander-v3"} & set(command):
        command[command.index("--steps") + 1] = "256"
    return command


def run(command, folder):
    finished = subprocess.run(
        [sys.executable, "-m", "sdmbtl", *command[1:]],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert finished.returncode == 0, (command, finished.stderr)
    return finished.stdout


def run_page(page, folder):
    """Run the code blocks of a page: what commands print, and how many there are."""
    printed, ran = "", 0
    names = {"__name__": "page"}
    for language, text in blocks(page):
        file = re.match(r"# (\w+\.\w+)\n", text)
        if file:
            (folder / file[1]).write_text(text)
        elif language == "python":
            short = text.replace("budget=4", "budget=1")
            exec(compile(short, page, "exec"), names)  # noqa: S102 (our own pages)
        for command in commands(text) if language == "console" else []:
            if command[1] == "tell":
                (folder / command[3]).write_text(json.dumps([-500.0] * 18))
            for file in (word for word in command if word.startswith("results/")):
                (folder / "results").mkdir(exist_ok=True)
                shutil.copy(ROOT / file, folder / file)
            printed += run(shorter(command), folder)
            ran += 1
    return printed, ran


@pytest.mark.parametrize("page", PAGES_ALONE)
def test_a_page_runs_by_itself(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _, ran = run_page(page, tmp_path)
    assert ran == PAGES_ALONE[page]


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES_SLOW)
def test_a_slow_page_runs_by_itself(page, tmp_path, monkeypatch):
    pytest.importorskip(NEEDED.get(page, "sdmbtl"))
    monkeypatch.chdir(tmp_path)
    _, ran = run_page(page, tmp_path)
    assert ran == PAGES_SLOW[page]


def test_no_page_has_code_that_nobody_runs():
    pages = [path for path in (ROOT / "docs").glob("*.md") if path.name != "index.md"]
    with_code = {
        f"docs/{path.name}"
        for path in pages
        if {"python", "console"} & {language for language, _ in blocks(f"docs/{path.name}")}
    }
    assert with_code == {*PAGES[1:], *PAGES_ALONE, *PAGES_SLOW, *ELSEWHERE}
    assert ELSEWHERE["docs/cyclesgym.md"] in (ROOT / "docs" / "cyclesgym.md").read_text()
    for page in with_code:  # a block that is indented, or has options, would not be found
        assert len(re.findall("```", (ROOT / page).read_text())) == 2 * len(blocks(page)), page


def test_every_command_on_every_page_is_understood():
    """Also those of blocks that are too long to be run: their options exist."""
    group, parsed = typer.main.get_command(app), 0
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        for _, text in blocks(page.relative_to(ROOT)):
            for words in commands(text):
                words = words[: words.index(">")] if ">" in words else words
                command, arguments = group, words[1:]
                while arguments and isinstance(command, TyperGroup):
                    command, arguments = command.commands[arguments[0]], arguments[1:]
                command.make_context(" ".join(words), list(arguments))
                parsed += 1
    assert parsed > 60


def test_the_commands_of_the_results_page_print_tables():
    """Those that are scripts: all in one process, as each takes seconds to start."""
    page = "\n".join(text for _, text in blocks("docs/results.md"))
    scripts = [line.split()[1:] for line in page.splitlines() if line.startswith("python ")]
    assert len(scripts) == 6
    code = "import runpy, sys\nsys.path.insert(0, 'lab/experiments')\n"
    for path, *arguments in scripts:
        code += f"sys.argv = {[path, *arguments]}\nrunpy.run_path({path!r}, run_name='__main__')\n"
        code += "print('-- end --')\n"
    made = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    printed = made.stdout.split("-- end --\n")[:-1]
    assert [len(text) > 200 for text in printed] == [True] * 6


def test_everything_runs_in_order(tmp_path, capsys, monkeypatch):
    """One folder, one Python session for each page: as a reader would go through them."""
    monkeypatch.chdir(tmp_path)
    printed, ran = "", 0
    for page in PAGES:
        more, count = run_page(page, tmp_path)
        printed, ran = printed + more, ran + count
    assert ran == 43
    for text in (
        "3 policies on 27 targets",  # run
        "27 targets: mean best return",  # status
        "Mean return",  # evaluate
        "structure: ",  # detect
        "expected return",  # portfolio --context
        "Exported to portfolio",
        "The study is healthy",
        "my_envs:make_pendulum, trainer ppo",
        '"context"',  # ask
        r"\toprule",
        "contexts",  # describe
        "What choosing can gain",  # bench real
        "on the context it was trained on",  # matrix
    ):
        assert text in printed, text
    said = capsys.readouterr().out
    assert len(re.findall(r"^ *[0-9.]+  {'length'", said, flags=re.MULTILINE)) == 6


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 200


def test_the_model_of_ones_own_works():
    page = (ROOT / "docs" / "structures.md").read_text()
    names = {}
    for block in re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL):
        exec(block, names)  # noqa: S102
    assert names["selector"].settings()["models"][1]["ridge"] == 1e-4
    space = ContextSpace(a=range(5), b=range(4))
    selector = PredictiveSelector(space, models=[names["AlwaysAsBefore"]()])
    for number in range(4):
        trial = selector.ask()
        selector.tell(trial, np.arange(20.0) % (number + 3))
    assert trial.model == "as-before"
    assert "Policies are all alike." in trial.reason


def test_links_lead_somewhere():
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
    for page in pages:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


@pytest.mark.skipif(not (ROOT / "results").exists(), reason="results are not part of a wheel")
def test_tables_are_those_of_the_result_files():
    finished = subprocess.run(
        [sys.executable, str(ROOT / "lab" / "experiments" / "make_tables.py"), "--check"],
        capture_output=True,
        text=True,
    )
    assert finished.returncode == 0, finished.stderr
