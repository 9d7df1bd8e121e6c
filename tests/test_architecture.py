"""The plan of the house: which room may use which, and how large anything may get."""

import ast
from functools import cache
from pathlib import Path

import sdmbtl

ROOT = Path(sdmbtl.__file__).parent
CORE = ("contexts", "transfer", "detection", "prediction", "selectors")
HEAVY = ("gymnasium", "jax", "torch", "stable_baselines3", "matplotlib", "ray", "rich", "typer")
MOST_LINES, MOST_LINES_OF_A_FUNCTION = 600, 60


@cache
def modules():
    """Path and syntax tree of every module."""
    return [(path, ast.parse(path.read_text())) for path in sorted(ROOT.rglob("*.py"))]


def room(path):
    """The package a module is in; for one that stands alone, its own name."""
    first = path.relative_to(ROOT).parts[0]
    return first.removesuffix(".py")


def imported_modules(tree):
    """Full names of everything a module imports when it is used, wherever in it."""
    todo = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue  # for annotations: never loaded
        todo += ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@cache
def used_rooms():
    """Room -> the other rooms that its modules import when they are used."""
    used = {}
    for path, tree in modules():
        own = room(path)
        names = [n.split(".") for n in imported_modules(tree)]
        others = {n[1] for n in names if n[0] == "sdmbtl" and len(n) > 1}
        known = {o for o in others if (ROOT / o).is_dir() or (ROOT / f"{o}.py").is_file()}
        used.setdefault(own, set()).update(known - {own})
    return used


def test_no_room_uses_itself_through_another():
    used = {name: set(others) for name, others in used_rooms().items()}
    while leaves := [name for name, others in used.items() if not others & used.keys()]:
        for name in leaves:
            del used[name]
    assert not used, f"these import one another in a circle: {used}"


def test_only_the_command_line_uses_benchmarks():
    users = {name for name, others in used_rooms().items() if "benchmarks" in others}
    assert users <= {"cli"}


def test_the_core_is_light():
    for path, tree in modules():
        if room(path) in CORE:
            found = {name.split(".")[0] for name in imported_modules(tree)} & set(HEAVY)
            assert not found, f"{path.relative_to(ROOT)} imports {found}"


def test_no_file_is_too_long():
    lengths = {p.relative_to(ROOT): len(p.read_text().splitlines()) for p, _ in modules()}
    assert {p: n for p, n in lengths.items() if n > MOST_LINES} == {}


def test_no_function_is_too_long():
    long = [
        f"{path.relative_to(ROOT)}: {node.name}, {node.end_lineno - node.lineno + 1} lines"
        for path, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno - node.lineno + 1 > MOST_LINES_OF_A_FUNCTION
    ]
    assert long == []
