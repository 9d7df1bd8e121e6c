"""One HTML file that holds everything it shows: no server, no network."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib.resources import files
from typing import Any

from sdmbtl import __version__
from sdmbtl.json_data import as_json

#: The scripts, in the order in which they are put together.
SCRIPTS = (
    *("dom", "scales", "lines", "targets", "map", "map_controls", "rows", "policies"),
    *("study", "start"),
)


def page_json(data: Any, *, made: str | None = None) -> str:
    """What a page shows, as JSON that may stand inside of HTML.

    No text in it can end the element that it stands in, or begin another one: what would is
    written as an escape of JSON.

    Args:
        data: The data of a study or a benchmark.
        made: When it was made, in words; not shown if left out.
    """
    content = {**as_json(data), "made": made, "version": __version__}
    text = json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def make_page(data: Any, *, made: str | None = None, live: bool = False) -> str:
    """The page of a study or a benchmark.

    Nothing but its own script and style is run or shown, and it cannot load anything: the page
    names their checksums in its content security policy.

    Args:
        data: What `study_data` or `benchmark_data` gathered.
        made: When it was made, in words.
        live: Whether it asks the server that it comes from for news.
    """
    style = _asset("page.css")
    script = "'use strict';\n(() => {\n" + "\n".join(_asset(f"{s}.js") for s in SCRIPTS) + "})();\n"
    parts = {
        "policy": content_policy(style, script, live=live),
        "style": style,
        "script": script,
        "live": "yes" if live else "no",
        "data": page_json(data, made=made),
    }
    page = _asset("page.html")
    for name, part in parts.items():  # the data come last: they may hold any text
        page = page.replace(f"{{{{{name}}}}}", part, 1)
    return page


def content_policy(style: str, script: str, *, live: bool) -> str:
    """The content security policy of a page with this style and script."""
    return "; ".join(
        (
            "default-src 'none'",
            "img-src data:",
            f"style-src 'sha256-{_checksum(style)}'",
            f"script-src 'sha256-{_checksum(script)}'",
            "connect-src 'self'" if live else "connect-src 'none'",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def _asset(name: str) -> str:
    return (files("sdmbtl.report") / "assets" / name).read_text(encoding="utf-8")


def _checksum(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
