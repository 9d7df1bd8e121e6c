"""The typed result: JSON there and back, and what its tables show."""

from dataclasses import replace

import pytest

from sdmbtl.errors import BenchmarkError
from sdmbtl_lab.benchmarks import BenchmarkResult
from sdmbtl_lab.benchmarks.paper_tables import (
    mountain_table,
    paper_tables,
    performance_table,
    strategy_tables,
)
from sdmbtl_lab.benchmarks.result import (
    Aggregate,
    ProblemResult,
    RoundsTo,
    SelectorResult,
    Statistics,
)

NAMES = ("m-mbtl", "m/gp-mbtl", "random", "myopic-oracle")
CURVES = {"m-mbtl": 0.6, "m/gp-mbtl": 0.7, "random": 0.5, "myopic-oracle": 0.8}


def selector(value, rounds=50, **parts):
    numbers = Statistics(value, 0.01, value + 0.001, 0.02, value + 0.002, 0.03)
    return SelectorResult({rounds: {"final": numbers, "auc": numbers}}, (value,) * rounds, **parts)


def problem(name="3d-f-constant-g-linear-h-l1", *, mountain=True, rounds=50, **parts):
    f, g, h = name.split("-")[2], name.split("-")[4], name.split("h-")[1]
    return ProblemResult(
        name=name,
        labels={"f(x)": f, "g(y)": g, "h(x,y)": h},
        rounds=rounds,
        low=0.0,
        high=1.0,
        selectors={n: selector(v, rounds, **parts) for n, v in CURVES.items()},
        mountain=mountain,
    )


def result(*problems, k=50, **changes):
    aggregated = {n: {"final": Aggregate(0.5, 0.1), "auc": Aggregate(None, why="x")} for n in NAMES}
    made = BenchmarkResult(
        name="synthetic-3d-noise5",
        title="3D synthetic data, noise 5",
        headers=("f(x)", "g(y)", "h(x,y)"),
        trials=100,
        policies=(k,),
        selectors=NAMES,
        problems=problems,
        aggregated={k: aggregated},
        settings={"kind": "synthetic", "dim": 3, "noise": 5.0},
        seeds="some",
        code="abc",
        versions={"python": "3.11"},
    )
    return replace(made, **changes)


def test_there_and_back(tmp_path):
    full = result(
        problem(
            rounds_to={"0.1": RoundsTo(0.5, 3.0, None)},
            strategies={"a": (1.0,) * 50},
            structures={"mountain": 0.25},
        ),
        least_margin=0.01,
        notes=("one",),
    )
    path = tmp_path / "deep" / "result.json"
    full.save(path)
    assert [p.name for p in path.parent.iterdir()] == ["result.json"]
    assert BenchmarkResult.load(path) == full


@pytest.mark.parametrize(
    "content",
    [b"{", b"[1]", b"{}", b'{"benchmark": "real"}', b'{"aggregated": {"x": {}}}', b"\xff"],
)
def test_files_that_are_not_results(tmp_path, content):
    path = tmp_path / "x.json"
    path.write_bytes(content)
    for place in (path, tmp_path):
        with pytest.raises(BenchmarkError, match="is not the result of a benchmark"):
            BenchmarkResult.load(place)


def test_published_values_stand_beside_ours():
    table = performance_table(result(problem()))
    assert table.title == "Performance, 3D synthetic data, noise 5, K = 50, 100 matrices"
    assert table.columns == ("Random", "M-MBTL", "M/GP-MBTL", "Myopic Oracle")
    assert [row.shaded for row in table.rows] == [True, False]
    assert table.rows[0].cells[2].published == 0.7038
    assert table.rows[-1].cells[2].published == 0.8721
    assert [cell.bold for cell in table.rows[0].cells] == [False, False, True, False]
    few = performance_table(result(problem(), trials=5))
    assert "The paper has 100 matrices: oracle and aggregate depend on their number." in few.notes


@pytest.mark.parametrize(
    "other",
    [
        result(problem("3d-f-quadratic-g-random-h-l1")),
        result(problem(rounds=20), k=20),
        result(problem(), settings={"kind": "synthetic", "dim": 3, "noise": 15.0}),
        result(problem(), settings={"kind": "own"}),
    ],
)
def test_what_the_paper_does_not_have_has_no_published_values(other):
    table = performance_table(other)
    assert all(cell.published is None for row in table.rows for cell in row.cells)


def test_the_area_under_the_curve():
    areas = performance_table(result(problem()), metric="auc")
    assert areas.title.startswith("Area under the performance curve")
    assert areas.rows[-1].cells == (None,) * 4, "it has no aggregate"


def test_structures_and_strategies():
    plain = result(problem(structures={"None": 1.0}, strategies={"a": (1.0,) * 50}))
    assert mountain_table(plain) is None
    assert list(strategy_tables(plain)) == []
    detecting = result(
        problem(structures={"mountain": 0.75, "none": 0.25}, strategies={"a": (1.0,), "b": (0.25,)})
    )
    assert mountain_table(detecting).rows[0].cells[0].mean == 0.75
    table = next(iter(strategy_tables(detecting)))
    assert [row.labels[1] for row in table.rows] == ["a", "b"]
    assert table.columns[:3] == ("round 1", "round 5", "round 6")
    assert [cell and cell.mean for cell in table.rows[1].cells[:2]] == [0.25, None]
    assert len(list(paper_tables(detecting))) == 2 + 4


def test_data_enter_while_there_is_something_to_gain():
    gone = replace(problem(), selectors={n: selector(0.5) for n in NAMES})
    every = result(problem(), gone)
    assert len(every.entering(50)) == 2
    some = replace(every, least_margin=0.01)
    assert [p.margin_at(50) for p in some.entering(50)] == [pytest.approx(0.3)]
    assert some.entering(51) == ()
    idle = replace(problem(), matters=False)
    assert replace(some, problems=(idle,)).entering(50) == ()


def test_a_column_over_fewer_problems_does_not_compete():
    aggregates = {n: {"final": Aggregate(0.5)} for n in NAMES}
    aggregates["m-mbtl"] = {"final": Aggregate(0.9, without=("other",))}
    table = performance_table(result(problem(), aggregated={50: aggregates}))
    assert [cell.bold for cell in table.rows[-1].cells] == [True, False, True, False]
    assert "The aggregate of M-MBTL is without other." in table.notes
