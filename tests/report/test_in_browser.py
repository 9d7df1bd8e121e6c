"""Pages in a real browser: what a reader sees, and what a page must not do."""

import re

import numpy as np
import pytest
from report_studies import HOSTILE, SPACES, hostile_study, told_study

from sdmbtl import ContextSpace
from sdmbtl.palette import policy_colour
from sdmbtl.report import make_page, study_data

CELLS = "#space svg > rect:not([class])"
FILLS = f"[...document.querySelectorAll('{CELLS}')].map((one) => one.style.fill)"
TIP = "!document.getElementById('tip').hidden"


def fits(page):
    """Whether nothing stands out of the page to the right."""
    return page.run("document.documentElement.scrollWidth <= innerWidth")


def move_slider(page, key, place):
    page.run(
        f"(() => {{ const one = document.querySelector(\"[data-key='{key}']\");"
        f"one.value = {place}; one.dispatchEvent(new Event('input')); }})()"
    )


@pytest.mark.parametrize("name", SPACES)
def test_every_space_is_drawn_and_asks_for_nothing(open_page, tmp_path, name):
    data = study_data(told_study(tmp_path / "mine", SPACES[name]))
    page = open_page(make_page(data))
    assert page.text("h1") == page.run("document.title") == data["title"]
    assert page.texts(".tile strong") == [value for _, value in data["tiles"]]
    for width in (1400, 380):
        page.resize(width)
        page.wait(f"document.querySelector('#space svg').viewBox.baseVal.width < {width}")
        assert page.run("document.querySelectorAll('#space svg *').length") > 20
        assert fits(page)
    assert [url for url in page.requests if not url.startswith(("file:", "data:"))] == []


def test_a_reader_sees_what_was_trained_and_why(open_page, cube):
    content, data, _ = cube
    page = open_page(content)
    rows = page.texts("#policies tbody tr")
    for row, policy in zip(rows, data["policies"], strict=True):
        assert policy["trained_on"] in row
        assert policy["reason"] in row
    assert "badly covered" in page.text(".summary")
    assert len(page.texts("#space .worst li")) == len(data["gaps"]["worst"])
    served = page.run(
        "[...document.querySelectorAll('#space .legend button')]"
        ".map((one) => Number(one.textContent.match(/ (\\d+)$/)[1]))"
    )
    assert sum(served) == 36, "every target has its policy"
    badge = "getComputedStyle(document.querySelector('#policies .c2')).backgroundColor"
    swatch = "document.querySelector(\"[data-key='only-2'] .swatch\")"
    assert page.run(badge) == page.run(f"getComputedStyle({swatch}).backgroundColor")
    assert data["policies"][2]["colour"] == policy_colour(2)


def test_a_reader_chooses_slices_and_policies(open_page, cube):
    content, data, study = cube
    page = open_page(content)
    move_slider(page, "at-0", 0)
    first = page.run(FILLS)
    assert len(first) == 3 * 4
    move_slider(page, "at-0", 2)
    assert page.run(FILLS) != first
    assert page.text("[data-key='at-0-text']") == "2 m"
    move_slider(page, "at-0", 0)
    target = data["gaps"]["worst"][0]
    page.click(f"[data-key='worst-{target}']")
    expected = f"{study.space.target(target)['length']:g} m"
    assert page.text("[data-key='at-0-text']") == expected, "a bad target leads to its slice"
    page.click("[data-key='only-0']")
    assert "Policy 0 alone" in page.text("#space")
    page.click("[data-key='only-0']")
    assert "Policy 0 alone" not in page.text("#space")
    move_slider(page, "up-to", 1)
    assert len(set(page.run(FILLS))) == 1, "one policy, one colour"
    share = 10 * data["policies"][0]["performance"]
    assert page.text("[data-key='up-to-text']") == f"1 of 5: {share:.1f} %"
    move_slider(page, "up-to", 5)
    assert len(set(page.run(FILLS))) > 1


def test_hovering_shows_the_context_with_units(open_page, cube):
    content, _, study = cube
    page = open_page(content)
    move_slider(page, "at-0", 0)
    page.hover(f"{CELLS}")
    page.wait(TIP)
    text = page.text("#tip")
    # The first cell is the lowest value of mass, the lowest of wind.
    assert "length 0.5 m, mass 1, wind 0" in text
    target = study.space.find({"length": 0.5, "mass": 1, "wind": 0})
    best = max(trial.row[target] for trial in study.trials)
    assert f"return {float(f'{best:.4g}'):g}" in text
    page.point_at(2, 300)
    page.wait(f"!({TIP})")


def test_arrow_keys_read_the_values(open_page, cube):
    page = open_page(cube[0])
    for figure in ("#coverage svg", "#space svg", "#rows canvas"):
        page.focus(figure)
        said = set()
        for key in ("ArrowRight", "ArrowRight", "ArrowDown"):
            page.press(key)
            page.wait(TIP)
            said.add(page.text("#said"))
        assert len(said) >= 2
        page.press("Escape")
        page.wait(f"!({TIP})")


def test_hostile_texts_stay_texts(open_page, tmp_path):
    page = open_page(make_page(study_data(hostile_study(tmp_path / "mine"))))
    assert page.run("document.title").startswith("mine: 2 policies")
    assert page.run("document.querySelectorAll('script').length") == 2
    assert page.run("document.querySelectorAll('img').length") == 0
    assert HOSTILE in page.text("#failures pre")
    assert HOSTILE in page.text("#space .sliders")
    move_slider(page, "at-0", 0)
    page.hover(CELLS)
    page.wait(TIP)
    assert f"{HOSTILE} 1 {HOSTILE}" in page.text("#tip")
    assert page.run("document.querySelectorAll('#tip *').length") == len(page.texts("#tip p"))


def test_without_javascript_the_words_and_the_table_are_there(open_page, cube):
    content, data, _ = cube
    page = open_page(content.replace("<script>", '<script type="text/plain">'))
    assert page.text("h1") == data["title"]
    assert page.texts(".summary li") == data["summary"]
    assert len(page.texts("#policies tbody tr")) == 5
    assert page.texts("#figures section") == []


def test_a_large_slice_is_one_image(open_page, tmp_path):
    space = ContextSpace(a=range(90), b=range(60))
    page = open_page(make_page(study_data(told_study(tmp_path / "mine", space))))
    assert page.run("document.querySelectorAll('#space svg image').length") == 1
    assert page.run(FILLS) == []
    page.hover("#space svg image")
    page.wait(TIP)
    assert re.match(r"a 4[45], b (29|30)", page.text("#tip"))
    assert page.run("document.querySelector('#rows canvas').width") > 100


def odd_rows(name, space):
    """Rows as few studies have them."""
    n = len(space)
    partial = np.where(np.arange(n) % 2, 5.0, np.nan)
    return {
        "partial": [partial, np.where(np.arange(n) < n / 2, 7.0, np.nan)],
        "nothing": [np.where(np.arange(n) == 0, 1.0, np.nan)],
        "equal": [np.full(n, 3.0), np.full(n, 3.0)],
    }[name]


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        *(("cube", rows) for rows in ("nothing", "equal")),
        *(("line", "partial"), ("list", "partial")),
    ],
)
def test_odd_returns_are_shown_without_complaint(open_page, tmp_path, name, rows):
    space = SPACES[name]
    study = told_study(tmp_path / "mine", space, policies=0, return_range=None)
    for row in odd_rows(rows, space):
        study.tell(study.ask(), row)
    page = open_page(make_page(study_data(study)))
    page.focus("#space svg")
    page.press("ArrowRight", "ArrowDown")
    page.wait(TIP)
    for bad in ("NaN", "undefined", "Infinity", "null"):
        assert bad not in page.run("document.body.innerText")
    broken = (
        "[...document.querySelectorAll('svg *')].filter((one) => [...one.attributes]"
        ".some((a) => /NaN|undefined|Infinity/.test(a.value))).map((one) => one.outerHTML)"
    )
    assert page.run(broken) == []


@pytest.mark.parametrize(
    "space",
    [
        ContextSpace(a=[1.0]),
        ContextSpace(a=[1.0], b=[2.0, 3.0], c=[5.0]),
        ContextSpace(a=[3.0, 1.0, 2.0], b=[True, False]),
    ],
)
def test_odd_spaces_are_shown_without_complaint(open_page, tmp_path, space):
    page = open_page(make_page(study_data(told_study(tmp_path / "mine", space, policies=1))))
    page.focus("#space svg")
    page.press("ArrowRight")
    page.wait(TIP)
    assert "NaN" not in page.run("document.querySelector('#space').innerHTML")
