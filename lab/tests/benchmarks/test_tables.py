"""Tables: layout, escapes, the rule for bold, and numbers that survive a round trip."""

from __future__ import annotations

import math

import pytest

from sdmbtl_lab.benchmarks import paper_configurations
from sdmbtl_lab.benchmarks.published import published_table
from sdmbtl_lab.benchmarks.tables import Cell, Table, TableRow, mark_best

HEADERS = ("f(x)", "g(y)", "h(x,y)")
#: The cells of two rows of the small table as text, the published values last.
FIRST = ("0.7011±0.0002", "0.7184±0.0010", "[0.7168]")
SECOND = ("-0.1235±0.1000*[0.5000]",)


def small_table() -> Table:
    """Two selectors, a Mountain row, a hole, a negative value and a summary."""
    return Table(
        title="Synthetic data",
        label_headers=HEADERS,
        columns=("random", "m/gp-mbtl"),
        rows=(
            TableRow(
                ("constant", "linear", "l1"),
                (Cell(0.7011, 0.0002), Cell(0.7184, 0.0010, 0.7168)),
                shaded=True,
            ),
            TableRow(
                ("linear", "linear", "non-distance"),
                (None, Cell(-0.12345, 0.1, 0.5, bold=True)),
            ),
            TableRow(("Aggregated",), (Cell(-0.00001, None), Cell(1.0, None, 0.8714))),
        ),
        notes=("W = 100",),
    )


def paper_table(dim: int, noise: float) -> Table:
    """A table of the paper's size, with slightly different values of our own."""
    table = published_table(dim, noise)
    columns = tuple(table.aggregated)

    def cells(values):
        pairs = [values[name] for name in columns]
        own = [Cell(v.mean - 0.0016, v.half_width or 0.001, v.mean) for v in pairs]
        return mark_best(own, exclude={columns.index("myopic-oracle")})

    rows = [
        TableRow((c.f, c.g, c.h), cells(r.values), c.is_mountain)
        for c, r in zip(paper_configurations(dim), table.rows, strict=True)
    ]
    rows.append(TableRow(("Aggregated",), cells(table.aggregated)))
    return Table(f"{dim}D, noise {noise:g}", HEADERS, columns, tuple(rows))


class TestText:
    def test_whole_table(self):
        lines = small_table().to_text().splitlines()
        assert lines[4].split() == ["constant", "linear", "l1", "▲", *FIRST]
        assert lines[5].split() == ["linear", "linear", "non-distance", "-", *SECOND]
        assert lines[7].split() == ["Aggregated", "0.0000", "1.0000", "[0.8714]"]
        assert lines[-1] == "W = 100"
        assert [line[:3] for line in lines[9:13]] == ["±: ", "[ ]", "*: ", "▲: "]

    @pytest.mark.parametrize(("width", "blocks"), [(80, 3), (110, 2), (160, 1)])
    def test_columns_that_do_not_fit_stand_in_further_blocks(self, width, blocks):
        table = paper_table(3, 5)
        lines = table.to_text(width).splitlines()
        assert max(map(len, lines)) <= width
        heads = [number for number, line in enumerate(lines) if line.startswith("f(x)")]
        assert len(heads) == blocks
        shown = [name for head in heads for name in lines[head].split()[3:]]
        assert shown == list(table.columns)
        for head in heads:
            body = [line for line in lines[head:][: len(table.rows) + 4] if "±" in line]
            assert len(body) == len(table.rows), "every block has every row"


class TestMarkdown:
    def test_whole_table(self):
        lines = small_table().to_markdown().splitlines()
        assert lines[2:4] == [
            "| f(x) | g(y) | h(x,y) | random | m/gp-mbtl |",
            "| :-- | :-- | :-- | --: | --: |",
        ]
        assert lines[5] == (
            "| linear | linear | non-distance | – | **-0.1235 ± 0.1000** [0.5000] |"
        )
        assert lines[6] == "| **Aggregated** |  |  | 0.0000 | 1.0000 [0.8714] |"

    def test_characters_mean_themselves(self):
        table = Table("a*b", ("x|y",), ("c_d",), (TableRow(("p|q",), (None,)),))
        assert table.to_markdown() == (
            "**a\\*b**\n\n| x\\|y | c\\_d |\n| :-- | --: |\n| p\\|q | – |\n"
        )


class TestLatex:
    def test_whole_table(self):
        lines = [line.strip() for line in small_table().to_latex().splitlines()]
        for expected in (
            r"\begin{tabular}{lllcc}",
            r"linear & linear & non-distance & -- & $\mathbf{-0.1235}$ $\pm$ $0.1000$ [0.5000] \\",
            r"\multicolumn{3}{l}{\textbf{Aggregated}} & $0.0000$ & $1.0000$ [0.8714] \\",
        ):
            assert expected in lines
        assert sum(line.startswith(r"\rowcolor{gray!15} constant") for line in lines) == 1
        for part in ("table*", "tabular"):
            assert lines.count(rf"\end{{{part}}}") == 1

    def test_escapes(self):
        title = r"a\b {c} $d$ & 5% #1 x_y ~ ^ < > | [z] * ±"
        row = TableRow(("[50%]",), (None,))
        source = Table(title, ("n_k",), ("a&b",), (row,)).to_latex()
        assert (
            r"\caption{a\textbackslash{}b \{c\} \$d\$ \& 5\% \#1 x\_y \textasciitilde{} "
            r"\textasciicircum{} \textless{} \textgreater{} \textbar{} {[}z] {*} $\pm$}"
        ) in source
        assert r"\textbf{n\_k} & \textbf{a\&b} \\" in source
        assert r"    {[}50\%] & -- \\" in source


PRINTED_BOLD = {
    (3, 0): ".b.b. ..bb. .b.b. ..bb. .b.b. .b.b. .b.b. .b.b.",
    (3, 5): ".b... ..bb. .b... ..bb. .b.b. .b.b. .b... .b.b.",
    (3, 30): ".b... b.bb. .b... .b... ...b. ...b. b..b. .b.b.",
    # The 5D table's labels Non-distance 1 and 2 are exchanged in print.
    (5, 5): ".b... ...b. b.bb. .b.b. b.bb. b.bb. ..bb. .b.b. .b... .bbb. .b... .b.b.",
    (7, 5): "..bb. .b.b. ..bb. .b.b.",
}


def bold_pattern(values) -> str:
    """The pattern that `mark_best` gives for printed values, the oracle last."""
    cells = [Cell(v.mean, v.half_width) for v in values.values()]
    marked = mark_best(cells, exclude={len(cells) - 1})
    return "".join("b" if cell.bold else "." for cell in marked)


class TestMarkBest:
    @pytest.mark.parametrize("key", PRINTED_BOLD)
    def test_gives_the_bold_type_of_the_paper(self, key):
        rows = published_table(*key).rows
        assert " ".join(bold_pattern(row.values) for row in rows) == PRINTED_BOLD[key]

    def test_touching_intervals_overlap_and_separate_ones_do_not(self):
        best = Cell(0.7272, 0.0024)
        assert mark_best([best, Cell(0.7240, 0.0008)])[1].bold
        assert not mark_best([best, Cell(0.7240, 0.0007)])[1].bold

    def test_clears_old_marks_keeps_the_rest_and_skips_holes(self):
        cells = (None, Cell(0.1, 0.0, 0.2, bold=True), Cell(0.3, 0.0, 0.4), Cell(math.nan, None))
        marked = mark_best(cells)
        assert marked[:3] == (None, Cell(0.1, 0.0, 0.2), Cell(0.3, 0.0, 0.4, bold=True))
        assert not marked[3].bold
        first = mark_best([Cell(math.nan, 9.0), Cell(0.1, 0.0), Cell(0.3, 0.0)])
        assert [cell.bold for cell in first] == [False, False, True]
