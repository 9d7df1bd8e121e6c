"""What the page on the report shows runs."""

import re
import shlex
from pathlib import Path

from command_runner import Command
from report_studies import told_study

from sdmbtl import ContextSpace

ROOT = Path(__file__).parents[2]


def test_the_page_on_the_report_runs(tmp_path, monkeypatch):
    space = ContextSpace(length=[0.1, 1.0], masscart=[1.0, 2.0], masspole=[0.1, 0.5])
    told_study(tmp_path / "runs" / "cartpole", space)
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "report.md").read_text()
    names = {}
    for language, text in re.findall(r"```(\w+)\n(.*?)```", page, flags=re.DOTALL):
        if language == "python":
            exec(text, names)  # noqa: S102
            continue
        for line in text.splitlines():
            program, *arguments = shlex.split(line, comments=True)
            assert program == "sdmbtl"
            Command()(*arguments)
    made = {"runs/cartpole/report.html", "report.html", "cartpole.png"}
    assert all((tmp_path / name).stat().st_size > 10_000 for name in made)
    pictures = re.findall(r"\((figures/[^)]+)\)", page)
    assert all((ROOT / "docs" / name).is_file() for name in pictures)
