"""The file: whole, and closed to the outside."""

import base64
import hashlib
import re
from html.parser import HTMLParser

from sdmbtl.report.page import SCRIPTS, _asset


class Elements(HTMLParser):
    """Lists the elements of a page with their attributes."""

    def __init__(self, page):
        super().__init__()
        self.found = []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))


def test_nothing_is_loaded_from_anywhere(cube):
    page, _, _ = cube
    for _, attributes in Elements(page).found:
        assert not any(name.startswith("on") for name in attributes), "no inline handlers"
        assert attributes.get("href", "#main") in ("data:,", "#main")
        assert "src" not in attributes
    # The namespace of SVG is a name, not an address.
    assert set(re.findall(r"https?://[^\s\"'`]+", page)) == {"http://www.w3.org/2000/svg"}
    assert "@import" not in page
    assert "url(" not in page.replace("url(#hatch)", "")


def test_the_policy_allows_this_script_and_this_style_alone(cube):
    page, _, _ = cube
    policy = next(a["content"] for _, a in Elements(page).found if "http-equiv" in a)
    for kind in ("script", "style"):
        content = re.search(rf"<{kind}>(.*?)</{kind}>", page, re.S)[1]
        checksum = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{checksum}'" in policy
    assert "default-src 'none'" in policy
    assert "connect-src 'none'" in policy
    assert "unsafe" not in policy


def test_scripts_never_parse_text_as_html():
    scripts = "".join(_asset(f"{name}.js") for name in SCRIPTS)
    ways = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(")
    assert [way for way in ways if way in scripts] == []
