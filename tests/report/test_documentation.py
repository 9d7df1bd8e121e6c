"""The code of the page on the report runs on a study that was trained elsewhere."""

import re
import shlex
from pathlib import Path

from command_runner import Command
from report_studies import told_study

from sdmbtl import ContextSpace

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "report.md"


def test_the_page_on_the_report_runs(tmp_path, monkeypatch):
    space = ContextSpace(length=[0.1, 1.0], masscart=[1.0, 2.0], masspole=[0.1, 0.5])
    told_study(tmp_path / "runs" / "cartpole", space)
    monkeypatch.chdir(tmp_path)
    page = PAGE.read_text()
    names = {}
    for language, text in re.findall(r"```(\w+)\n(.*?)```", page, flags=re.DOTALL):
        if language == "python":
            exec(text, names)  # noqa: S102
            continue
        for line in text.splitlines():
            if line.startswith("sdmbtl report"):
                Command()(*shlex.split(line, comments=True)[1:])
    made = {"runs/cartpole/report.html", "report.html", "cartpole.png"}
    assert all((tmp_path / name).stat().st_size > 10_000 for name in made)
    pictures = re.findall(r"\((\S+\.png)\)", page)
    assert pictures
    assert all((PAGE.parent / name).is_file() for name in pictures)
