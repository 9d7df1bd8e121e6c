"""Draw the pictures of a report in the README: docs/figures/report-*.png.

Needs a browser (Debian's chromium) and a study, as of `make run`:

    python lab/experiments/draw_report.py runs/cartpole
"""

from __future__ import annotations

import argparse
import io
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from PIL import Image

from sdmbtl.files import write_atomically
from sdmbtl.report import make_page, study_data
from sdmbtl.studies import Study

FIGURES = Path(__file__).parents[2] / "docs" / "figures"
WIDTH = 1180
#: Name of a picture -> what of the page is on it, its height, and whether it is dark.
PICTURES = {
    "report-headline": ("h1, .lead, .cards, #coverage", 970, False),
    "report-space": ("#space", 940, False),
    "report-space-dark": ("#space", 940, True),
}
COLOURS = 160


def main() -> None:
    """Draw them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("study", type=Path, help="directory of a study")
    parser.add_argument("--out", type=Path, default=FIGURES, help="directory of the pictures")
    arguments = parser.parse_args()
    page = make_page(study_data(Study.open(arguments.study)))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "report.html"
        for name, (shown, height, dark) in PICTURES.items():
            file.write_text(reduced(page, shown, dark=dark))
            picture = photograph(file.as_uri(), height, Path(folder))
            write_atomically(arguments.out / f"{name}.png", picture)


def reduced(page: str, shown: str, *, dark: bool) -> str:
    """A page with some of its parts only; without its policy, which allows no further style."""
    page = re.sub(r"<meta http-equiv=.*?>", "", page, count=1)
    style = f".bar, footer, main > :not({shown}) {{ display: none }} section {{ margin-top: 2rem }}"
    page = page.replace("</head>", f"<style>{style}</style></head>", 1)
    return page.replace("<html", f'<html data-theme="{"dark" if dark else "light"}"', 1)


def photograph(address: str, height: int, folder: Path) -> bytes:
    """A PNG file of a page, with few colours."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        raise SystemExit("There is no browser. Install Debian's chromium.")
    shot = folder / "shot.png"
    subprocess.run(  # noqa: S603 (a program that was just found)
        [
            *(browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
            *("--force-prefers-reduced-motion", "--virtual-time-budget=5000"),
            *(f"--window-size={WIDTH},{height}", f"--screenshot={shot}"),
            *(f"--user-data-dir={folder / 'profile'}", address),
        ],
        check=True,
        capture_output=True,
    )
    drawn = io.BytesIO()
    with Image.open(shot) as image:
        image.convert("RGB").quantize(COLOURS).save(drawn, format="png", optimize=True)
    return drawn.getvalue()


if __name__ == "__main__":
    main()
