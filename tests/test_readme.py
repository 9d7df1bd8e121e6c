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
from sdmbtl.contexts import load_space

ROOT = Path(__file__).parent.parent
#: Pages whose code runs in every test run, with the number of their commands.
PAGES = {
    "README.md": 2,
    "docs/concepts/choosing.md": 0,
    "docs/concepts/detection.md": 0,
    "docs/concepts/models.md": 0,
    "docs/reference/environments.md": 0,
    "docs/reference/space-file.md": 0,
    "docs/research/data/index.md": 0,
    "docs/research/data/regions.md": 0,
}
#: Pages that train longer or in other ways.
PAGES_SLOW = {
    "docs/start/quickstart.md": 6,
    "docs/guides/environment.md": 2,
    "docs/guides/training-loop.md": 5,
    "docs/guides/trainers.md": 4,
    "docs/guides/report.md": 7,
    "docs/guides/deploy.md": 5,
    "docs/guides/resume.md": 9,
    "docs/guides/tracking.md": 0,
    "docs/guides/large-spaces.md": 0,
    "docs/examples/cartpole.md": 1,
    "docs/examples/pendulum.md": 1,
    "docs/examples/acrobot.md": 1,
    "docs/examples/mountain-car.md": 1,
    "docs/examples/drone.md": 1,
    "docs/examples/bipedal-walker.md": 1,
    "docs/examples/gymnasium.md": 0,
    "docs/examples/traffic.md": 1,
    "docs/examples/crop.md": 3,
    "docs/reference/selectors.md": 3,
    "docs/research/single-contexts.md": 2,
    "docs/research/reproduce.md": 2,
}
#: Pages whose blocks other tests run, and one that notes that its code is not run.
ELSEWHERE = {
    "docs/examples/jax.md": "tests/environments/test_jax_adapters.py",
    "docs/examples/carl.md": "tests/environments/test_recipes.py",
    "docs/examples/mujoco.md": "tests/environments/test_hopper_recipe.py",
    "docs/examples/cyclesgym.md": "**Not run here.**",
}

#: Values that replace those of an option.
VALUES = {
    "--budget": "3",
    "--total-steps": "9000",
    "--steps": "2048",
    "--data": "bipedal-walker",
    "--levels": "3",
    "--samples": "5",
}
#: Options that make commands short; the pages show them as users will type them.
TINY = ["--levels", "2", "--steps", "2048", "--episodes", "1"]
FEW = ["--set", "num_envs=2", "--set", "num_steps=64", "--episodes", "1", "--steps", "256"]
SHORTER = {
    "CartPole": ["--levels", "3", "--steps", "4096", "--episodes", "2"],
    **dict.fromkeys(("Pendulum", "Acrobot", "MountainCar", "Drone", "Crop"), TINY),
    **dict.fromkeys(("my_envs:make_pendulum", "gym:LunarLander-v3"), FEW),
    "BipedalWalker": [*FEW, "--levels", "2"],
    "CropPlanning": ["--steps", "760", "--episodes", "1"],
    "Traffic": ["--levels", "2", "--steps", "256", "--episodes", "1"],
    "--dim": ["--matrices", "1", "--rounds", "4"],
    "figures": ["--timed", "2"],
    "distill": ["--steps", "600"],
}


def blocks(page):
    """(language, text) of the code blocks of a page, in order."""
    text = (ROOT / page).read_text()
    return re.findall(r"```(\w+)\n(.*?)```", text, flags=re.DOTALL)


def commands(text):
    lines = [line for line in text.splitlines() if line.startswith("sdmbtl ")]
    return [shlex.split(line, comments=True)[1:] for line in lines]


def shorter(command):
    for option, value in VALUES.items():
        if option in command:
            command[command.index(option) + 1] = value
    for word, options in SHORTER.items():
        if word in command and command[0] in ("run", "distill", "lab"):
            command = [*command, *options]  # the last value of an option counts
    return command


def run_page(page, folder):
    """Run the code blocks of a page in this process; the output of commands, and their number."""
    printed, ran = "", 0
    names = {"__name__": "page"}
    for language, text in blocks(page):
        if file := re.match(r"# (\w+\.\w+)\n", text):
            (folder / file[1]).write_text(text)
        elif language == "python":
            short = text.replace("budget=12", "budget=1").replace("200_000", "128")
            exec(compile(short, page, "exec"), names)  # noqa: S102 (our own pages)
        for command in commands(text) if language == "console" else []:
            if command[0] == "tell" and command[2].endswith(".json"):
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
def test_a_page_runs(page, folder):
    printed, ran = run_page(page, folder)
    assert ran == PAGES[page]
    if page == "README.md":
        assert "3 policies" in printed
        assert (folder / "runs" / "drone" / "report.html").is_file()


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES_SLOW)
def test_a_slow_page_runs(page, folder):
    if page == "docs/guides/report.md":  # shows the study of another page
        run_page("docs/guides/resume.md", folder)
    assert run_page(page, folder)[1] == PAGES_SLOW[page]


def test_no_page_has_code_that_nobody_runs():
    pages = {str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")}
    with_code = {
        page for page in pages if {"python", "console"} & {language for language, _ in blocks(page)}
    }
    assert with_code == {*PAGES, *PAGES_SLOW, *ELSEWHERE} - {"README.md"}
    not_run = "docs/examples/cyclesgym.md"
    assert ELSEWHERE[not_run] in (ROOT / not_run).read_text()
    for page in with_code:  # a block that is indented, or has options, would not be found
        others = (ROOT / page).read_text().count("```{")
        fences = len(re.findall("```", (ROOT / page).read_text()))
        assert fences == 2 * (len(blocks(page)) + others), page


def test_every_space_file_is_one(tmp_path):
    read = 0
    for page in (ROOT / "docs").rglob("*.md"):
        for language, text in blocks(page.relative_to(ROOT)):
            if language == "toml" and "[dimensions." in text:
                (tmp_path / "space.toml").write_text(text)
                load_space(tmp_path / "space.toml")
                read += 1
    assert read > 10


def test_every_command_on_every_page_exists_with_its_options():
    group, parsed = typer.main.get_command(app), 0
    group.list_commands(typer.Context(group))  # imports those of plug-ins
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        for _, text in blocks(page.relative_to(ROOT)):
            for words in commands(text):
                words = words[: words.index(">")] if ">" in words else words
                command, arguments = group, words
                while arguments and isinstance(command, TyperGroup):
                    assert arguments[0] in command.commands, f"{page.name}: {words}"
                    command, arguments = command.commands[arguments[0]], arguments[1:]
                command.make_context(" ".join(words), list(arguments))
                parsed += 1
        for name in re.findall(r"`sdmbtl ([a-z]+)", page.read_text()):
            assert name in group.commands, f"{page.name}: sdmbtl {name}"
    assert parsed > 50


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 120


def test_links_lead_somewhere():
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    for page in pages:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_scripts_of_the_results_page_print_tables():
    page = "\n".join(text for _, text in blocks("docs/research/single-contexts.md"))
    scripts = [line.split()[1:] for line in page.splitlines() if line.startswith("python ")]
    assert scripts
    code = "import runpy, sys\nsys.path.insert(0, 'lab/experiments')\n"
    for path, *arguments in scripts:
        code += f"sys.argv = {[path, *arguments]}\nrunpy.run_path({path!r}, run_name='__main__')\n"
        code += "print('-- end --')\n"
    made = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    assert all(len(text) > 200 for text in made.stdout.split("-- end --\n")[:-1])
