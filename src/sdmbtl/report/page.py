"""One HTML file that holds everything it shows: no server, no network.

Title, key figures, sentences, tables and settings are plain HTML; the script only draws figures.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from typing import Any

from sdmbtl import __version__
from sdmbtl.palette import LINES, policy_colour, text_colour
from sdmbtl.wording import counted, figure

#: The scripts, in the order in which they are put together.
SCRIPTS = ("dom", "scales", "lines", "targets", "map", "map_controls", "rows", "study", "start")

#: Data that the script draws figures from.
DRAWN = (
    *("space", "returns", "range_known", "rows", "gaps", "random", "best_single", "running"),
    "progress",
)
DRAWN_OF_POLICIES = (
    *("id", "status", "colour", "trained_on", "kind", "box", "expected_gain", "gain"),
    *("performance", "serves", "curve"),
)


def make_page(data: Mapping[str, Any], *, made: str | None = None, live: bool = False) -> str:
    """Make the page of a study.

    The page can load nothing, and runs its own script and style only: their checksums stand in its
    content security policy.

    Args:
        data: The data of `study_data`.
        made: Date and time of the report, as text.
        live: Whether the page asks its server for news.
    """
    rules = [
        f".c{n} {{ background: {colour}; color: {text_colour(colour)}; }}\n"
        for n, colour in enumerate(LINES)
    ]
    style = _asset("page.css") + "".join(rules)
    script = "'use strict';\n(() => {\n" + "\n".join(_asset(f"{s}.js") for s in SCRIPTS) + "})();\n"
    by = ", ".join(filter(None, [f"Made by sdmbtl {__version__}", made]))
    parts = [  # in the order of the page: they may hold any text
        ("live", "yes" if live else "no"),
        ("security", _security(style, script, live=live)),
        ("title", escape(data["title"])),
        ("style", style),
        ("content", _content(data)),
        ("made", escape(by)),
        ("data", _script_data(data)),
        ("script", script),
    ]
    rest, page = _asset("page.html"), ""
    for name, part in parts:
        head, _, rest = rest.partition(f"{{{{{name}}}}}")
        page += head + part
    return page + rest


def _script_data(data: Mapping[str, Any]) -> str:
    """Return the data of the figures as JSON that may stand inside of HTML.

    No text in it can end its element or begin another one: it is written with escapes of JSON.
    """
    drawn = {name: data[name] for name in DRAWN}
    drawn["policies"] = [{name: p[name] for name in DRAWN_OF_POLICIES} for p in data["policies"]]
    text = json.dumps(drawn, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _content(data: Mapping[str, Any]) -> str:
    """Return all that is shown without the script."""
    tiles = "".join(
        f'<div class="tile"><div>{escape(label)}</div><strong>{escape(value)}</strong></div>'
        for label, value in data["tiles"]
    )
    parts = [
        f"<h1>{escape(data['title'])}</h1>",
        f'<p class="lead">{escape(_explanation(data))}</p>',
        _progress(data["progress"]),
        f'<div class="tiles">{tiles}</div>' if tiles else "",
        _list(data["summary"], "summary"),
        '<div id="figures"></div>',
    ]
    if data["policies"]:
        known = data["range_known"]
        level, unit = ("Coverage", "points") if known else ("Mean best return", "return")
        heads = ["", "Trained on", "Why", f"Expected ({unit})", f"Gain ({unit})", level, "Best for"]
        head = "".join(f'<th scope="col">{escape(text)}</th>' for text in heads)
        rows = "".join(_policy_row(policy) for policy in data["policies"])
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        scroll = f'<div class="scroll">{table}</div>'
        parts.append(f'<section id="policies"><h2>Policies</h2>{scroll}</section>')
    if data["failures"]:
        found = "".join(
            f"<h3>{escape(failure['what'])}</h3><pre>{escape(failure['error'])}</pre>"
            for failure in data["failures"]
        )
        more = f"<p>And {data['more_failures']} more.</p>" if data["more_failures"] else ""
        parts.append(f'<section id="failures"><h2>Failures</h2>{found}{more}</section>')
    parts.append(
        '<section id="settings"><h2>Details and settings</h2>'
        f"{_list(data['details'], 'details')}"
        f"{_folded('Settings', _definitions(data['settings']))}"
        f"{_folded('Versions', _definitions(data['versions']))}</section>"
    )
    return "\n".join(parts)


def _progress(progress: Mapping[str, Any] | None) -> str:
    """Return the policy in training: a bar, and a sentence."""
    if progress is None:
        return ""
    bar = "" if progress["share"] is None else f'<progress value="{progress["share"]}"></progress>'
    return f'<div class="now">{bar}<span>{escape(progress["text"])}</span></div>'


def _explanation(data: Mapping[str, Any]) -> str:
    targets = counted(data["space"]["targets"], "task")
    if not data["range_known"]:
        return f"Mean best return: the return of the best policy for each of {targets}, averaged."
    low, high = map(figure, data["returns"])
    return (
        f"Coverage: the return of the best policy for each of {targets}, averaged, as a share of "
        f"the range of returns, {low} to {high}."
    )


def _policy_row(policy: Mapping[str, Any]) -> str:
    start = "from scratch" if policy["parent"] is None else f"from policy {policy['parent']}"
    start = "not trained here" if policy["steps"] == 0 else start
    steps = f", {policy['steps']:,} steps" if policy["steps"] else ""
    remarks = "".join(f'<p class="remark">{escape(text)}</p>' for text in policy["remarks"])
    finished = policy["status"] == "finished"
    numbers = _folded("Numbers", _definitions(policy["numbers"]), f"policy-{policy['id']}")
    cells = [
        f'<span class="badge c{LINES.index(policy_colour(policy["id"]))}">{policy["id"]}</span>',
        f"<strong>{escape(policy['trained_on'])}</strong><br>{start}{steps}",
        f"{escape(policy['reason'])}{remarks}{numbers}",
        policy["expected_text"],
        policy["gain_text"] if finished else policy["status"],
        policy["level_text"] if finished else "-",
        counted(policy["serves"], "task") if finished else "-",
    ]
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _list(lines: list[str], name: str) -> str:
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f'<ul class="{name}">{items}</ul>' if items else ""


def _folded(title: str, content: str, key: str | None = None) -> str:
    summary = f"<summary>{escape(title)}</summary>"
    return f'<details data-key="{key or title}">{summary}{content}</details>'


def _definitions(entries: Mapping[str, str]) -> str:
    found = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in entries.items())
    return f"<dl>{found}</dl>"


def _security(style: str, script: str, *, live: bool) -> str:
    """Return the content security policy of a page with this style and script."""
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
