"""Walls between the packages: which may import which."""

import ast
import re
import sys
from functools import cache
from pathlib import Path

import sdmbtl

ROOT = Path(sdmbtl.__file__).parent
CORE = ("contexts", "transfer", "selectors")
LIGHT = {"numpy", "scipy", "sdmbtl", *sys.stdlib_module_names}
#: Data flows one way: a package imports only packages before it.
ORDER = (
    *("contexts", "transfer", "selectors", "environments", "policies", "execution", "training"),
    *("callbacks", "portfolio", "plots", "studies", "report", "testing", "cli"),
)


@cache
def modules():
    """Path and syntax tree of every module of the product."""
    return [(path, ast.parse(path.read_text())) for path in sorted(ROOT.rglob("*.py"))]


def package(path):
    """The package of a module; for one outside of packages, its own name."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imports(tree):
    """Full names of all imports of a module, except those for annotations."""
    todo = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        todo += ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@cache
def used_packages():
    """Package -> the other packages and modules of the product that it imports."""
    used = {}
    for path, tree in modules():
        own = package(path)
        names = [name.split(".") for name in imports(tree)]
        others = {name[1] for name in names if name[0] == "sdmbtl" and len(name) > 1}
        known = {o for o in others if (ROOT / o).is_dir() or (ROOT / f"{o}.py").is_file()}
        used.setdefault(own, set()).update(known - {own})
    return used


def test_the_product_imports_neither_lab_nor_domains():
    for path, tree in modules():
        found = {name.split(".")[0] for name in imports(tree)}
        found = {name for name in found if name.startswith("sdmbtl_")}
        assert not found, f"{path.relative_to(ROOT)} imports {found}"


def test_the_core_needs_numpy_and_scipy_only():
    for path, tree in modules():
        if package(path) in CORE:
            found = {name.split(".")[0] for name in imports(tree)}
            assert found <= LIGHT, f"{path.relative_to(ROOT)} imports {found - LIGHT}"


def test_data_flows_one_way():
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert packages == set(ORDER)
    for number, name in enumerate(ORDER):
        later = used_packages()[name] & set(ORDER[number:])
        assert not later, f"{name} imports {later}"


def test_no_module_imports_itself_through_another():
    """Modules outside of packages, too."""
    used = {name: set(others) for name, others in used_packages().items()}
    while leaves := [name for name, others in used.items() if not others & used.keys()]:
        for name in leaves:
            del used[name]
    assert not used, f"these import one another in a circle: {used}"


def test_the_map_is_right():
    """CONTRIBUTING.md names every package in order, and files, functions and classes that exist."""
    text = (ROOT.parents[1] / "CONTRIBUTING.md").read_text()
    table = text.partition("| package | content | start with |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| `(\w+)` \|.*\| (.*) \|$", table, flags=re.MULTILINE)
    assert tuple(name for name, _ in rows) == ORDER
    files = [f"{name}/{file}" for name, cell in rows for file in re.findall(r"`(\S+)`", cell)]
    for file in files:
        assert (ROOT / file).is_file(), file
    for name, file in re.findall(r"`(\w+)` in `(\S+\.py)`", text):
        assert re.search(rf"\b(def|class) {name}\b", (ROOT / file).read_text()), (name, file)
    for file in re.findall(r"`(\w+/\S+\.py)`", text):
        assert any((base / file).is_file() for base in (ROOT, ROOT.parents[1], ROOT / "training"))
