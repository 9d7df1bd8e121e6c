"""Result tables in the layout of the paper, as text, Markdown and LaTeX.

A row is a configuration, a column a selector. A published value stands next to ours in brackets:
``0.7184 ± 0.0010 [0.7168]``.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from sdmbtl.wording import printable

_MOUNTAIN = "▲"
#: Intervals that miss each other by less than this touch: it is rounding.
_TOUCHING = 1e-9

_LATEX_ESCAPES = str.maketrans(
    {
        **{character: rf"\{character}" for character in "{}$&%#_"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "[": "{[}",  # a row that starts with a bracket would be an argument of the \\ before it
        "*": "{*}",
        "±": r"$\pm$",
    }
)
_MARKDOWN_ESCAPES = str.maketrans({character: f"\\{character}" for character in "\\|*_`<"})


@dataclass(frozen=True, slots=True)
class Cell:
    """One value of a table.

    Attributes:
        mean: The value.
        half_width: Half the width of its confidence interval, or None if unknown.
        published: The paper's value, or None if it has none.
        bold: True if the value is among the best of its row.
    """

    mean: float
    half_width: float | None = None
    published: float | None = None
    bold: bool = False

    @property
    def value(self) -> str:
        """Mean and, if known, half width."""
        spread = "" if self.half_width is None else f" ± {_number(self.half_width)}"
        return f"{_number(self.mean)}{spread}"

    @property
    def paper(self) -> str:
        """Published value in brackets, or nothing."""
        return "" if self.published is None else f" [{_number(self.published)}]"


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row of a table.

    Attributes:
        labels: Texts on the left. A row with fewer labels than the table has label headers is a
            summary, such as "Aggregated", and is set apart.
        cells: One cell for each column; None where there is no value.
        shaded: True if the configuration has the Mountain structure.
    """

    labels: tuple[str, ...]
    cells: tuple[Cell | None, ...]
    shaded: bool = False


@dataclass(frozen=True)
class Table:
    """A table that can be printed in several formats.

    Attributes:
        title: One line.
        label_headers: Headers of the label columns, such as ("f(x)", "g(y)", "h(x,y)").
        columns: Headers of the value columns, such as the selector names.
        rows: Rows from top to bottom.
        notes: Remarks below the table, after the explanation of the marks that occur in it.
    """

    title: str
    label_headers: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]
    notes: tuple[str, ...] = ()

    def to_text(self, width: int = 80) -> str:
        """Return plain text; the best values carry a star.

        Columns that do not fit the width stand in further blocks, each with the labels.
        """
        heads = [list(self.label_headers), *map(self._labels, self.rows)]
        padded = [_aligned(texts) for texts in zip(*heads, strict=True)]
        labels = [" ".join(texts) for texts in zip(*padded, strict=True)]
        columns = [
            _aligned([header, *map(_text_cell, (row.cells[i] for row in self.rows))])
            for i, header in enumerate(self.columns)
        ]
        blocks: list[list[str]] = []
        for column in columns:
            wide = blocks and len(blocks[-1][0]) + 2 + len(column[0]) > width
            if not blocks or wide:
                blocks.append(list(labels))
            blocks[-1] = [f"{a}  {b}" for a, b in zip(blocks[-1], column, strict=True)]
        texts = []
        for block in blocks or [labels]:
            ruler = "-" * min(max(map(len, block)), width)
            lines = [block[0].rstrip(), ruler]
            for row, line in zip(self.rows, block[1:], strict=True):
                lines += [ruler] * self._is_summary(row) + [line.rstrip()]
            texts.append("\n".join([*lines, ruler]))
        title = textwrap.fill(printable(self.title), width)
        notes = [textwrap.fill(printable(note), width) for note in self._all_notes("*")]
        return "\n".join([title, "", "\n\n".join(texts), *notes]) + "\n"

    def to_markdown(self) -> str:
        """Return a Markdown table with title and notes; the best values are bold."""

        def escaped(text: str) -> str:
            return printable(text).translate(_MARKDOWN_ESCAPES)

        def line(texts: Iterable[str]) -> str:
            return "| " + " | ".join(texts) + " |"

        marks = [":--"] * len(self.label_headers) + ["--:"] * len(self.columns)
        lines = [line(map(escaped, (*self.label_headers, *self.columns))), line(marks)]
        for row in self.rows:
            labels = [escaped(label) for label in self._labels(row)]
            if self._is_summary(row):
                labels[0] = f"**{labels[0]}**"
            cells = [
                "–" if c is None else (f"**{c.value}**" if c.bold else c.value) + c.paper
                for c in row.cells
            ]
            lines.append(line([*labels, *cells]))
        notes = "\n".join(f"- {escaped(note)}" for note in self._all_notes("bold"))
        return (
            "\n\n".join(filter(None, [f"**{escaped(self.title)}**", "\n".join(lines), notes]))
            + "\n"
        )

    def to_latex(self) -> str:
        """Return a LaTeX table; it needs booktabs and xcolor with the option `table`."""

        def escaped(text: str) -> str:
            return printable(text).translate(_LATEX_ESCAPES)

        lines = []
        for row in self.rows:
            labels = [escaped(label) for label in row.labels]
            if self._is_summary(row):
                lines.append(r"    \midrule")
                span = len(self.label_headers) - len(labels) + 1
                labels[-1] = rf"\multicolumn{{{span}}}{{l}}{{\textbf{{{labels[-1]}}}}}"
            cells = ["--" if cell is None else _latex_cell(cell) for cell in row.cells]
            shade = r"\rowcolor{gray!15} " if row.shaded else ""
            lines.append("    " + shade + " & ".join([*labels, *cells]) + r" \\")
        headers = [rf"\textbf{{{escaped(h)}}}" for h in (*self.label_headers, *self.columns)]
        layout = "l" * len(self.label_headers) + "c" * len(self.columns)
        return "\n".join(
            [
                r"% \usepackage{booktabs}, \usepackage[table]{xcolor}",
                r"\begin{table*}",
                r"  \centering",
                rf"  \caption{{{escaped(self.title)}}}",
                rf"  \begin{{tabular}}{{{layout}}}",
                r"    \toprule",
                "    " + " & ".join(headers) + r" \\",
                r"    \midrule",
                *lines,
                r"    \bottomrule",
                r"  \end{tabular}",
                *(rf"  \par\footnotesize {escaped(n)}" for n in self._all_notes("bold", "gray")),
                r"\end{table*}",
                "",
            ]
        )

    def _is_summary(self, row: TableRow) -> bool:
        return len(row.labels) < len(self.label_headers)

    def _labels(self, row: TableRow) -> list[str]:
        """Return one label per header, with a mark in place of the shading."""
        marked = f"{row.labels[-1]} {_MOUNTAIN}" if row.shaded else row.labels[-1]
        labels = [printable(label) for label in (*row.labels[:-1], marked)]
        return [*labels, *[""] * (len(self.label_headers) - len(labels))]

    def _all_notes(self, best: str, shade: str = _MOUNTAIN) -> list[str]:
        """Return explanations of the marks that occur, then the table's own notes."""
        cells = [cell for row in self.rows for cell in row.cells if cell is not None]
        legend = {
            "±: half the width of the confidence interval.": any(
                cell.half_width is not None for cell in cells
            ),
            "[ ]: value published in the paper.": any(cell.published is not None for cell in cells),
            f"{best}: highest of the row, oracles aside, or its interval overlaps the highest "
            "one.": any(cell.bold for cell in cells),
            f"{shade}: the configuration has the Mountain structure.": any(
                row.shaded for row in self.rows
            ),
        }
        return [note for note, occurs in legend.items() if occurs] + list(self.notes)


def mark_best(
    cells: Sequence[Cell | None], exclude: AbstractSet[int] = frozenset()
) -> tuple[Cell | None, ...]:
    """Set bold for the best cells of a row, but for some positions, and for no others.

    The rule is the paper's, "the highest value(s) within the statistically significant range":
    the cell with the highest mean, and every cell whose interval reaches the lower end of that
    cell's interval. Of several highest means the one with the widest interval decides. An unknown
    half width counts as zero, and a mean that is NaN is never best.

    >>> row = [Cell(0.70, 0.01), Cell(0.71, 0.01), Cell(0.60, 0.01), Cell(0.80, 0.0)]
    >>> [cell.bold for cell in mark_best(row, exclude={3})]
    [True, True, False, False]
    """
    candidates = {
        index: cell
        for index, cell in enumerate(cells)
        if cell is not None and index not in exclude and not math.isnan(cell.mean)
    }
    top = max((cell.mean for cell in candidates.values()), default=math.nan)
    lows = (cell.mean - (cell.half_width or 0) for cell in candidates.values() if cell.mean == top)
    threshold = min(lows, default=math.nan) - _TOUCHING
    best = {i for i, cell in candidates.items() if cell.mean + (cell.half_width or 0) >= threshold}
    return tuple(
        None if cell is None else replace(cell, bold=index in best)
        for index, cell in enumerate(cells)
    )


def _number(value: float) -> str:
    """Format a number with four digits and without a negative zero."""
    return f"{round(value, 4) + 0.0:.4f}"


def _aligned(texts: Iterable[str]) -> list[str]:
    """Pad texts on the right to the same length."""
    padded = list(texts)
    width = max(map(len, padded), default=0)
    return [text.ljust(width) for text in padded]


def _text_cell(cell: Cell | None) -> str:
    if cell is None:
        return "-"
    return f"{cell.value.replace(' ± ', '±')}{'*' if cell.bold else ' '}{cell.paper.lstrip()}"


def _latex_cell(cell: Cell) -> str:
    """Format a cell; as in the paper only the mean is bold. Numbers are in math mode."""
    mean, _, spread = cell.value.partition(" ± ")
    value = rf"$\mathbf{{{mean}}}$" if cell.bold else f"${mean}$"
    return value + (rf" $\pm$ ${spread}$" if spread else "") + cell.paper
