"""The code of README and documentation runs."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from command_runner import Command
from typer.core import TyperGroup

from sdmbtl.cli import app

ROOT = Path(__file__).parent.parent
#: Pages whose code runs in every test run, with the number of their commands.
PAGES = {"README.md": 4, "docs/choosing.md": 0, "docs/structures.md": 0}
#: Pages that train longer or in other ways.
PAGES_SLOW = {
    "docs/tutorial.md": 6,
    "docs/selectors.md": 3,
    "docs/environments.md": 1,
    "docs/command-line.md": 26,
    "docs/deploy.md": 4,
    "docs/own-training.md": 4,
    "docs/faq.md": 0,
    "docs/reproducing.md": 2,
    "docs/matrices.md": 0,
    "docs/regions.md": 0,
    "docs/results.md": 2,
    "docs/scale.md": 0,
    "docs/crop.md": 3,
    "docs/traffic.md": 1,
}
#: Pages whose blocks other tests run, and one that notes that its code is not run.
ELSEWHERE = {
    "docs/report.md": "tests/report/test_documentation.py",
    "docs/jax.md": "tests/environments/test_jax_adapters.py",
    "docs/vector-environments.md": "tests/environments/test_vector_env.py",
    "docs/recipes.md": "tests/environments/test_recipes.py, tests/callbacks/test_recipes.py",
    "docs/cyclesgym.md": "**Not run here.**",
}

#: Options that make commands short; the pages show them as users will type them.
SHORTER = {
    "CartPole": ["--levels", "3", "--steps", "4096", "--episodes", "2"],
    "my_envs:make_pendulum": ["--set", "num_envs=2", "--set", "num_steps=64"],
    "gym:LunarLander-v3": ["--set", "num_envs=2", "--set", "num_steps=64", "--episodes", "1"],
    "m/gp-mbtl": ["--budget", "2"],
    "--dim": ["--matrices", "1", "--rounds", "4"],
    "real": ["--matrices", "1"],
    "figures": ["--timed", "2"],
    "matrix": ["--multi-task", "", "--levels", "2"],
    "Crop": ["--levels", "2", "--steps", "2048", "--episodes", "1"],
    "CropPlanning": ["--steps", "760", "--episodes", "1"],
    "distill": ["--steps", "600"],
    "Traffic": ["--levels", "2", "--steps", "256", "--episodes", "1"],
    "sb3": ["--budget", "1", "--set", "num_envs=2", "--set", "num_steps=64"],
}
#: Values that replace those of an option.
VALUES = {
    "--budget": "3",
    "--total-steps": "9000",
    "--data": "bipedal-walker",
    "--levels": "3",
    "--samples": "5",
}


def blocks(page):
    """(language, text) of the code blocks of a page, in order."""
    text = (ROOT / page).read_text()
    return re.findall(r"```(\w+)\n(.*?)```", text, flags=re.DOTALL)


def commands(text):
    lines = [line for line in text.splitlines() if line.startswith("sdmbtl ")]
    return [shlex.split(line, comments=True)[1:] for line in lines]


def shorter(command):
    for word, options in SHORTER.items():
        if word in command and options[0] not in command:
            command = [*command, *options]
    for option, value in VALUES.items():
        if option in command:
            command[command.index(option) + 1] = value
    if {"my_envs:make_pendulum", "gym:LunarLander-v3"} & set(command):
        command[command.index("--steps") + 1] = "256"
    return command


def run_page(page, folder):
    """Run the code blocks of a page in this process; the output of commands, and their number."""
    printed, ran = "", 0
    names = {"__name__": "page"}
    for language, text in blocks(page):
        if file := re.match(r"# (\w+\.\w+)\n", text):
            (folder / file[1]).write_text(text)
        elif language == "python":
            short = text.replace("budget=4", "budget=1")
            exec(compile(short, page, "exec"), names)  # noqa: S102 (our own pages)
        for command in commands(text) if language == "console" else []:
            if command[0] == "tell":
                (folder / command[2]).write_text(json.dumps([-500.0] * 18))
            for file in (word for word in command if word.startswith("results/")):
                (folder / "results").mkdir(exist_ok=True)
                shutil.copy(ROOT / file, folder / file)
            printed += Command()(*shorter(command)).stdout
            ran += 1
    return printed, ran


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder, from which modules are imported and forgotten again."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(tmp_path) in (getattr(sys.modules[name], "__file__", None) or ""):
            del sys.modules[name]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_runs(page, folder, capsys):
    printed, ran = run_page(page, folder)
    assert ran == PAGES[page]
    if page == "README.md":
        for text in ("3 policies", "expected return"):
            assert text in printed, text
        asked = re.findall(r"^ *[0-9.]+  {'length'", capsys.readouterr().out, flags=re.MULTILINE)
        assert len(asked) == 6


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES_SLOW)
def test_a_slow_page_runs(page, folder):
    assert run_page(page, folder)[1] == PAGES_SLOW[page]


def test_no_page_has_code_that_nobody_runs():
    pages = [path for path in (ROOT / "docs").glob("*.md") if path.name != "index.md"]
    with_code = {
        f"docs/{path.name}"
        for path in pages
        if {"python", "console"} & {language for language, _ in blocks(f"docs/{path.name}")}
    }
    assert with_code == {*PAGES, *PAGES_SLOW, *ELSEWHERE} - {"README.md"}
    assert ELSEWHERE["docs/cyclesgym.md"] in (ROOT / "docs" / "cyclesgym.md").read_text()
    for page in with_code:  # a block that is indented, or has options, would not be found
        assert len(re.findall("```", (ROOT / page).read_text())) == 2 * len(blocks(page)), page


def test_every_command_on_every_page_exists_with_its_options():
    group, parsed = typer.main.get_command(app), 0
    group.list_commands(typer.Context(group))  # imports those of plug-ins
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        for _, text in blocks(page.relative_to(ROOT)):
            for words in commands(text):
                words = words[: words.index(">")] if ">" in words else words
                command, arguments = group, words
                while arguments and isinstance(command, TyperGroup):
                    assert arguments[0] in command.commands, f"{page.name}: {words}"
                    command, arguments = command.commands[arguments[0]], arguments[1:]
                command.make_context(" ".join(words), list(arguments))
                parsed += 1
    assert parsed > 50


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 120


def test_links_lead_somewhere():
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
    for page in pages:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_scripts_of_the_results_page_print_tables():
    page = "\n".join(text for _, text in blocks("docs/results.md"))
    scripts = [line.split()[1:] for line in page.splitlines() if line.startswith("python ")]
    assert scripts
    code = "import runpy, sys\nsys.path.insert(0, 'lab/experiments')\n"
    for path, *arguments in scripts:
        code += f"sys.argv = {[path, *arguments]}\nrunpy.run_path({path!r}, run_name='__main__')\n"
        code += "print('-- end --')\n"
    made = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    assert all(len(text) > 200 for text in made.stdout.split("-- end --\n")[:-1])
