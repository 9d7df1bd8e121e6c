"""`sdmbtl report` and `sdmbtl watch`: a study as a page."""

from __future__ import annotations

import webbrowser
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from sdmbtl.cli.arguments import ArgumentError
from sdmbtl.cli.options import JsonOption
from sdmbtl.cli.output import note, print_json, say
from sdmbtl.cli.signals import StopSignals
from sdmbtl.files import write_atomically

SubjectArgument = Annotated[
    Path,
    typer.Argument(metavar="PATH", help="Directory of a study."),
]
OpenOption = Annotated[bool, typer.Option("--open", help="Open it in the browser.")]


def report(
    path: SubjectArgument,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE.html",
            help="The file.",
            show_default="report.html in the study",
        ),
    ] = None,
    open_: OpenOption = False,
    as_json: JsonOption = False,
) -> None:
    """Write a page that shows a study: one file that needs no network.

    It may be sent to anyone and opens in any browser. The study may be
    running; nothing of it is changed.
    """
    from sdmbtl.report import make_page, study_data
    from sdmbtl.studies import Study

    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    content = make_page(study_data(Study.open(path)), made=made).encode()
    file = out or path / "report.html"
    write_atomically(file, content)
    if as_json:
        print_json({"path": str(path), "report": str(file), "bytes": len(content)})
    else:
        note(f"Wrote {file} ({len(content) / 1e6:.1f} MB).")
    if open_:
        webbrowser.open(file.resolve().as_uri())


def watch(
    path: SubjectArgument,
    port: Annotated[
        int,
        typer.Option(
            help="Where to listen on this machine.",
            min=0,
            max=65535,
            show_default="a free port",
        ),
    ] = 0,
    open_: OpenOption = False,
) -> None:
    """Show the report live while a study runs; Ctrl-C ends it.

    It is for this machine alone: http://127.0.0.1. It only reads.
    """
    from sdmbtl.report.live import LivePage, LiveServer
    from sdmbtl.studies import Study

    page = LivePage(Study.open(path))
    page.current()  # what cannot be shown is said here, not in the browser
    try:
        server = LiveServer(page, port)
    except OSError as error:
        raise ArgumentError(
            f"Port {port} cannot be used: {error.strerror}. Leave --port out for a free one."
        ) from None
    signals = StopSignals()
    with server, signals.ending_with(lambda: "Stopped watching."):
        say(f"{path} is shown at {server.url} (Ctrl-C ends it)")
        if open_:
            webbrowser.open(server.url)
        while True:
            server.handle_request()
            signals.check()
