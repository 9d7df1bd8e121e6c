"""`sdmbtl report`: a study as an HTML page, written once or served live."""

from __future__ import annotations

import webbrowser
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from sdmbtl.cli.options import JsonOption, StudyArgument
from sdmbtl.cli.output import ArgumentError, note, print_json, say
from sdmbtl.cli.signals import StopSignals
from sdmbtl.files import write_atomically

if TYPE_CHECKING:
    from sdmbtl.studies import Study


def report(
    path: StudyArgument,
    out: Path | None = typer.Option(
        None,
        "--out",
        "-o",
        metavar="FILE.html",
        help="File of the page.",
        show_default="report.html in the study",
    ),
    open_: bool = typer.Option(False, "--open", help="View in the browser."),
    live: bool = typer.Option(False, "--live", help="Live page on this machine, until Ctrl-C."),
    port: int = typer.Option(
        0, metavar="N", help="Port of --live.", min=0, max=65535, show_default="a free one"
    ),
    as_json: JsonOption = False,
) -> None:
    """Write an HTML report of a study: one file that needs no network.

    The study may be running; nothing of it is changed. With --live, the page
    is served at http://127.0.0.1 and follows the run.
    """
    from sdmbtl.report import make_page, study_data
    from sdmbtl.studies import Study

    file = out or path / "report.html"
    if file.suffix != ".html":
        raise ArgumentError(f"The name of a page must end with .html. Got {file.name!r} instead.")
    study = Study.open(path)
    if live:
        if out is not None or as_json:
            raise ArgumentError("--live writes no file. Leave --out and --json out.")
        _serve(study, port, open_=open_)
    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    content = make_page(study_data(study), made=made).encode()
    write_atomically(file, content)
    if as_json:
        print_json({"path": str(path), "report": str(file), "bytes": len(content)})
    else:
        note(f"Wrote {file} ({len(content) / 1e6:.1f} MB).")
    if open_:
        webbrowser.open(file.resolve().as_uri())


def _serve(study: Study, port: int, *, open_: bool) -> None:
    """Serve a page that follows a study until a signal ends it."""
    from sdmbtl.report.live import LivePage, LiveServer

    page = LivePage(study)
    page.current()  # errors appear here, not in the browser
    try:
        server = LiveServer(page, port)
    except OSError as error:
        raise ArgumentError(
            f"Port {port} cannot be used: {error.strerror}. Leave --port out for a free one."
        ) from None
    signals = StopSignals()
    with server, signals.ending_with("Stopped the live page."):
        say(f"{study.path} is shown at {server.url} (Ctrl-C ends it)")
        if open_:
            webbrowser.open(server.url)
        while True:
            server.handle_request()
            signals.check()
