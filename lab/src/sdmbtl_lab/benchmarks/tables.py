"""Result tables in the layout of the paper, as text, Markdown, LaTeX and CSV.

A row is a configuration, a column a selector. Where a published value is known it stands beside
ours in brackets: ``0.7184 ± 0.0010 [0.7168]``.
"""

from __future__ import annotations

import csv
import io
import math
import textwrap
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from sdmbtl.errors import BenchmarkError

_MOUNTAIN = "▲"
_TOUCHING = 1e-9
"""Intervals that miss each other by less than this touch: it is rounding."""

_BREAKING = frozenset({"Cc", "Zl", "Zp"})
"""Unicode categories of control characters and of line and paragraph separators."""

_LEAST_LABEL = 24
"""Labels are not broken into lines shorter than this."""

_TEXT_LAYOUTS = ((" ± ", 2), (" ± ", 1), ("±", 2), ("±", 1))
"""Sign between mean and half width, and the gap between columns: from roomy to tight."""

_LATEX_ESCAPES = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        "$": r"\$",
        "&": r"\&",
        "%": r"\%",
        "#": r"\#",
        "_": r"\_",
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


@dataclass(frozen=True, slots=True)
class Cell:
    """One value of a table.

    Attributes:
        mean: The value.
        half_width: Half the width of its confidence interval, or None if unknown.
        published: The paper's value, or None if it has none.
        bold: Whether the value is among the best of its row.
        digits: How many digits behind the point are printed.
    """

    mean: float
    half_width: float | None = None
    published: float | None = None
    bold: bool = False
    digits: int = 4

    @property
    def difference(self) -> float | None:
        """Our value minus the published one, or None if there is none.

        >>> Cell(0.75, None, published=0.5).difference
        0.25
        """
        return None if self.published is None else self.mean - self.published


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row of a table.

    Attributes:
        labels: Texts on the left. A row with fewer labels than the table has label headers is a
            summary (such as "Aggregated") and is set apart.
        cells: One cell for each column; None where there is no value.
        shaded: Whether the row is shaded, as configurations with the Mountain structure are.
    """

    labels: tuple[str, ...]
    cells: tuple[Cell | None, ...]
    shaded: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A result table.

    Attributes:
        title: Heading or caption.
        label_headers: Headers of the label columns, such as ("f(x)", "g(y)", "h(x,y)").
        columns: Headers of the value columns, such as the selector names.
        rows: Rows from top to bottom.
        notes: Remarks below the table, after the explanation of the marks that occur in it.

    Raises:
        BenchmarkError: If a row does not fit the headers, or if a text has a line break or another
            control character, which would tear the table apart.
    """

    title: str
    label_headers: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        labels = (label for row in self.rows for label in row.labels)
        for text in (self.title, *self.label_headers, *self.columns, *labels, *self.notes):
            if any(unicodedata.category(character) in _BREAKING for character in text):
                raise BenchmarkError(f"The text {text!r} of a table has a control character.")
        for number, row in enumerate(self.rows, start=1):
            if len(row.cells) != len(self.columns):
                raise BenchmarkError(
                    f"Row {number} of table {self.title!r} has {len(row.cells)} cells for "
                    f"{len(self.columns)} columns."
                )
            if not 1 <= len(row.labels) <= len(self.label_headers):
                raise BenchmarkError(
                    f"Row {number} of table {self.title!r} has {len(row.labels)} labels for "
                    f"{len(self.label_headers)} label headers."
                )

    def to_text(self, width: int = 80) -> str:
        """Plain text with aligned columns.

        The best values carry a star. Spaces are saved where the table would exceed the width; if
        even the tightest layout does, the columns stand in several blocks, each with the labels.

        Args:
            width: Number of characters to fit into.

        Returns:
            Lines without trailing spaces, ending in a line break.
        """
        blocks = ["\n".join(lines) for lines in self._text_blocks(width)]
        notes = [textwrap.fill(note, width) for note in self._all_notes("*")]
        title = textwrap.fill(self.title, width)
        return "\n".join([title, "", "\n\n".join(blocks), *notes]) + "\n"

    def to_markdown(self) -> str:
        """Markdown table with title and notes; the best values are bold."""
        headers = map(_markdown_escape, (*self.label_headers, *self.columns))
        marks = [":--"] * len(self.label_headers) + ["--:"] * len(self.columns)
        lines = [_markdown_line(headers), _markdown_line(marks)]
        for row in self.rows:
            labels = [_markdown_escape(label) for label in self._labels(row)]
            if self._is_summary(row):
                labels[0] = f"**{labels[0]}**"
            lines.append(_markdown_line([*labels, *map(_markdown_cell, row.cells)]))
        notes = [f"- {_markdown_escape(note)}" for note in self._all_notes("bold")]
        parts = [f"**{_markdown_escape(self.title)}**", "\n".join(lines), "\n".join(notes)]
        return "\n\n".join(part for part in parts if part) + "\n"

    def to_latex(self) -> str:
        """LaTeX table environment.

        It needs the packages booktabs and, for shaded rows, xcolor with the option `table`.
        """
        headers = [rf"\textbf{{{_latex_escape(h)}}}" for h in (*self.label_headers, *self.columns)]
        layout = "l" * len(self.label_headers) + "c" * len(self.columns)
        lines = [
            r"% \usepackage{booktabs}, \usepackage[table]{xcolor}",
            r"\begin{table*}",
            r"  \centering",
            rf"  \caption{{{_latex_escape(self.title)}}}",
            rf"  \begin{{tabular}}{{{layout}}}",
            r"    \toprule",
            "    " + " & ".join(headers) + r" \\",
            r"    \midrule",
            *(line for row in self.rows for line in self._latex_row(row)),
            r"    \bottomrule",
            r"  \end{tabular}",
            *(rf"  \par\footnotesize {_latex_escape(n)}" for n in self._all_notes("bold", "gray")),
            r"\end{table*}",
        ]
        return "\n".join(lines) + "\n"

    def to_csv(self) -> str:
        """Comma-separated values in long form: one line for each cell, with plain numbers.

        The fields are the table's title, the label headers, then column, mean, half_width,
        published, difference, bold and shaded. Numbers have full precision; what is unknown is
        empty.
        """
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        values = ("column", "mean", "half_width", "published", "difference", "bold", "shaded")
        writer.writerow(["table", *self.label_headers, *values])
        for row in self.rows:
            for column, cell in zip(self.columns, row.cells, strict=True):
                labels = [self.title, *self._padded(row.labels), column]
                flags = (cell is not None and cell.bold, row.shaded)
                words = ["true" if flag else "false" for flag in flags]
                writer.writerow([*labels, *_csv_numbers(cell), *words])
        return buffer.getvalue()

    def _is_summary(self, row: TableRow) -> bool:
        """Whether a row stands for the whole table."""
        return len(row.labels) < len(self.label_headers)

    def _padded(self, labels: tuple[str, ...]) -> list[str]:
        """The labels, filled up with empty ones."""
        return [*labels, *[""] * (len(self.label_headers) - len(labels))]

    def _labels(self, row: TableRow) -> list[str]:
        """Labels of a row for text and Markdown, where a mark stands for the shading."""
        marked = f"{row.labels[-1]} {_MOUNTAIN}" if row.shaded else row.labels[-1]
        return self._padded((*row.labels[:-1], marked))

    def _all_notes(self, best: str, shade: str = _MOUNTAIN) -> list[str]:
        """Explanations of the marks that occur, then the table's own notes."""
        cells = [cell for row in self.rows for cell in row.cells if cell is not None]
        highest = (
            f"{best}: highest of the row, oracles aside, or its interval overlaps the highest one."
        )
        legend = {
            "±: half the width of the confidence interval.": any(
                cell.half_width is not None for cell in cells
            ),
            "[ ]: value published in the paper.": any(cell.published is not None for cell in cells),
            highest: any(cell.bold for cell in cells),
            f"{shade}: the configuration has the Mountain structure.": any(
                row.shaded for row in self.rows
            ),
        }
        return [note for note, occurs in legend.items() if occurs] + list(self.notes)

    def _text_blocks(self, width: int) -> Iterator[list[str]]:
        """Lines of the table; of each block of columns if they do not fit beside one another."""
        labels = self._text_labels(width)
        for sign, gap in _TEXT_LAYOUTS:
            columns = [
                _text_column(header, [row.cells[index] for row in self.rows], sign)
                for index, header in enumerate(self.columns)
            ]
            if len(labels[0][0]) + sum(gap + len(column[0]) for column in columns) <= width:
                break
        else:
            widest = max(len(column[0]) for column in columns)
            labels = self._text_labels(min(width - gap - widest, 3 * width // 5))
        room = width - len(labels[0][0])
        for some in _fitting(columns, room, gap):
            lines = []
            for number, (left, *cells) in enumerate(zip(labels, *some, strict=True)):
                if number and self._is_summary(self.rows[number - 1]):
                    lines.append("")
                lines += [(" " * gap).join([left[0], *cells]).rstrip(), *map(str.rstrip, left[1:])]
                if not number:
                    lines.append("")
            ruler = "-" * max(map(len, lines))
            yield [line or ruler for line in [*lines, ""]]

    def _text_labels(self, room: int) -> list[list[str]]:
        """The labels of header and rows, each some lines of the same length.

        What is longer than the room is broken between words, but not to shreds. A label that
        stands alone, as that of a summary, takes the room of all.
        """
        rows = [list(self.label_headers), *map(self._labels, self.rows)]
        several = [row for row in rows if any(row[1:])]
        widths = [max(map(len, some)) for some in zip(*several, strict=True)]
        widths = widths or [max(len(row[0]) for row in rows)]
        rest = sum(widths[1:]) + len(widths[1:])
        widths[0] = min(widths[0], max(room - rest, _LEAST_LABEL))
        lines = []
        for first, *others in rows:
            alone = not any(others)
            broken = textwrap.wrap(first, widths[0] + rest if alone else widths[0]) or [""]
            texts = [broken[0], *others]
            padded = [text.ljust(width) for text, width in zip(texts, widths, strict=True)]
            lines.append([" ".join(padded)[: widths[0] + rest], *broken[1:]])
        return [[line.ljust(widths[0] + rest) for line in some] for some in lines]

    def _latex_row(self, row: TableRow) -> list[str]:
        """Source lines of one row."""
        cells = [_latex_cell(cell) for cell in row.cells]
        labels = [_latex_escape(label) for label in row.labels]
        rule = [r"    \midrule"] if self._is_summary(row) else []
        if rule:
            span = len(self.label_headers) - len(row.labels) + 1
            labels[-1] = rf"\multicolumn{{{span}}}{{l}}{{\textbf{{{labels[-1]}}}}}"
        shade = r"\rowcolor{gray!15} " if row.shaded else ""
        return [*rule, "    " + shade + " & ".join([*labels, *cells]) + r" \\"]


def mark_best(
    cells: Sequence[Cell | None], exclude: AbstractSet[int] = frozenset()
) -> tuple[Cell | None, ...]:
    """Set bold for the best cells of a row and for no others.

    The rule is the paper's, "the highest value(s) within the statistically significant range":
    the cell with the highest mean, and every cell whose interval reaches the lower end of that
    cell's interval. Of several highest means the one with the widest interval decides. An unknown
    half width counts as zero, and a mean that is NaN is never best.

    Args:
        cells: Cells of one row.
        exclude: Positions that do not take part, such as that of the oracle.

    Returns:
        The cells with `bold` set anew.

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


def _number(value: float, digits: int) -> str:
    """A number without a negative zero."""
    return f"{round(value, digits) + 0.0:.{digits}f}"


def _value(cell: Cell, sign: str) -> str:
    """Mean and, if known, half width."""
    spread = "" if cell.half_width is None else f"{sign}{_number(cell.half_width, cell.digits)}"
    return f"{_number(cell.mean, cell.digits)}{spread}"


def _published(cell: Cell) -> str:
    """The published value in brackets, or nothing."""
    return "" if cell.published is None else f"[{_number(cell.published, cell.digits)}]"


def _aligned(texts: list[str]) -> list[str]:
    """Texts padded on the right to the same length."""
    width = max(map(len, texts), default=0)
    return [text.ljust(width) for text in texts]


def _text_column(header: str, cells: list[Cell | None], sign: str) -> list[str]:
    """One column, with means, half widths and published values each aligned."""
    means = ["-" if cell is None else _number(cell.mean, cell.digits) for cell in cells]
    mean_width = max(map(len, means), default=0)
    values = [
        mean.rjust(mean_width) + ("" if cell is None else _value(cell, sign)[len(mean) :])
        for cell, mean in zip(cells, means, strict=True)
    ]
    stars = ["*" if cell is not None and cell.bold else " " for cell in cells]
    published = ["" if cell is None else _published(cell) for cell in cells]
    width = max(map(len, published), default=0)
    parts = zip(_aligned(values), stars, published, strict=True)
    texts = [f"{value}{star}{paper.rjust(width)}".rstrip() for value, star, paper in parts]
    return _aligned([header, *texts])


def _fitting(columns: list[list[str]], room: int, gap: int) -> Iterator[list[list[str]]]:
    """Yield as many columns at a time as fit into the room, at least one."""
    block: list[list[str]] = []
    for column in columns:
        if block and sum(gap + len(one[0]) for one in [*block, column]) > room:
            yield block
            block = []
        block.append(column)
    yield block


def _markdown_cell(cell: Cell | None) -> str:
    """One cell in Markdown."""
    if cell is None:
        return "–"
    value = _value(cell, " ± ")
    return f"{f'**{value}**' if cell.bold else value} {_published(cell)}".rstrip()


def _markdown_line(texts: Iterable[str]) -> str:
    """One line of a Markdown table."""
    return "| " + " | ".join(texts) + " |"


def _markdown_escape(text: str) -> str:
    """Text whose characters mean themselves in a Markdown table."""
    for character in "\\|*_`<":
        text = text.replace(character, "\\" + character)
    return text


def _latex_cell(cell: Cell | None) -> str:
    """One cell in LaTeX; as in the paper only the mean is bold. Numbers are in math mode."""
    if cell is None:
        return "--"
    mean = _number(cell.mean, cell.digits)
    value = rf"$\mathbf{{{mean}}}$" if cell.bold else f"${mean}$"
    spread = "" if cell.half_width is None else rf" $\pm$ ${_number(cell.half_width, cell.digits)}$"
    return f"{value}{spread}" + ("" if cell.published is None else f" {_published(cell)}")


def _latex_escape(text: str) -> str:
    """Text whose characters mean themselves in LaTeX."""
    return text.translate(_LATEX_ESCAPES)


def _csv_numbers(cell: Cell | None) -> list[str]:
    """Mean, half width, published value and difference of a cell, empty where unknown."""
    if cell is None:
        return [""] * 4
    difference = None if cell.difference is None else round(cell.difference, 12)
    numbers = (cell.mean, cell.half_width, cell.published, difference)
    return ["" if x is None else repr(float(x)) for x in numbers]
