"""The plug-in template: installed next to the product, used by name, checked by our suites."""

import shutil
import tomllib
from pathlib import Path

import pytest
from command_runner import Command

from sdmbtl import ContextSpace, make_selector, plugins
from sdmbtl.environments import check_contextual_env, make_family
from sdmbtl.errors import SelectorError
from sdmbtl.selectors import RandomSelector, StructureDetectionSelector
from sdmbtl.testing import detector_checks, selector_checks
from sdmbtl.transfer.detection import MountainDetector, make_detector

PLUGIN = Path(__file__).parents[2] / "examples/plugin"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The module and its metadata, as `pip install` writes them."""
    site = tmp_path_factory.mktemp("site")
    project = tomllib.loads((PLUGIN / "pyproject.toml").read_text())["project"]
    shutil.copy(PLUGIN / "example_plugin.py", site)
    info = site / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir()
    metadata = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (info / "METADATA").write_text(metadata)
    lines = []
    for group, points in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {where}" for name, where in points.items())]
    (info / "entry_points.txt").write_text("\n".join(lines))
    return site


@pytest.fixture
def installed(site, monkeypatch):
    monkeypatch.syspath_prepend(site)
    for function in (plugins.installed, plugins.load):
        function.cache_clear()
    yield
    for function in (plugins.installed, plugins.load):
        function.cache_clear()


@pytest.mark.parametrize("check", selector_checks(), ids=lambda check: check.__name__)
def test_its_selector_conforms(installed, check):
    check(lambda space, seed: make_selector("halton", space, seed=seed))


@pytest.mark.parametrize("check", detector_checks(), ids=lambda check: check.__name__)
def test_its_detector_and_ours_conform(installed, check):
    check(lambda: make_detector("separable"))
    check(MountainDetector)
    check(MountainDetector.as_in_the_paper)


def test_its_detector_is_a_setting_of_a_selector(installed):
    space = ContextSpace(x=range(5))
    strategies = {name: RandomSelector(space) for name in ("separable", "none")}
    selector = StructureDetectionSelector(space, "separable", strategies, assumed="none")
    assert selector.settings()["detector"] == {"name": "separable"}


def test_its_environments_conform(installed):
    report = check_contextual_env(make_family("Arm"))
    assert report.first_difference == {"g": 1}


def test_options_in_a_name():
    selector = make_selector("random?sources=box", ContextSpace(x=range(5)))
    assert selector.settings() == {"sources": "box"}
    with pytest.raises(SelectorError, match="KEY=VALUE"):
        make_selector("random?box", ContextSpace(x=range(5)))
    with pytest.raises(SelectorError, match="has no 'Nothing'"):
        make_selector("sdmbtl.wording:Nothing", ContextSpace(x=range(5)))


def test_a_class_of_ones_own_chooses_in_studies_and_benchmarks(site, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(site)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    command = Command()
    (tmp_path / "space.toml").write_text("[dimensions.x]\nvalues = [1, 2, 3]\n")
    named = ["--selector", "example_plugin:HaltonSelector"]
    asked = command("ask", "study", "--space", "space.toml", *named)
    assert '"strategy": "halton"' in asked.stdout
    command("ask", "study")

    shutil.copytree(tmp_path / "study", tmp_path / "copied")
    refused = command.error("ask", "copied")
    assert "the selector 'example_plugin:HaltonSelector'" in refused

    both = "example_plugin:HaltonSelector,random?sources=box"
    how = ["--matrices", "1", "--rounds", "2", "--jobs", "1", "--selectors", both]
    shown = command("lab", "bench", "synthetic", *how, "--out", "results").stdout
    assert "example_plugin:HaltonSelector" in shown
