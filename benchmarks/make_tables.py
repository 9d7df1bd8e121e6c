"""Write docs/results.md and the table in README.md from results/*.json.

python benchmarks/make_tables.py            # or: make tables
python benchmarks/make_tables.py --check    # only say whether they are up to date
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from sdmbtl.benchmarks.published import published_table
from sdmbtl.benchmarks.results import load_result, performance_table, share_table

ROOT = Path(__file__).parent.parent
RESULTS, DOCUMENT, README = ROOT / "results", ROOT / "docs" / "results.md", ROOT / "README.md"
BEGIN, END = "<!-- made by benchmarks/make_tables.py -->", "<!-- end -->"
SHOWN = ("gp-mbtl", "m-mbtl", "m/gp-mbtl")


def synthetic_results() -> list[dict[str, Any]]:
    """All results on synthetic data, smallest first."""
    results = [load_result(path) for path in RESULTS.glob("synthetic-*.json")]
    return sorted(results, key=lambda r: (r["dim"], r["noise"], r["configurations"][0]["name"]))


def document(results: list[dict[str, Any]], speed: dict[str, Any] | None) -> str:
    """The text of docs/results.md."""
    parts = [
        "# Results",
        "Made from `results/*.json` by `make tables`. Each table is printed by "
        "`sdmbtl bench synthetic --dim D --noise S` (3D: 100 trials, 5D and 7D: 5, as in the "
        "paper). The paper's values stand in brackets.",
    ]
    for result in results:
        further = "-f-quadratic" in result["configurations"][0]["name"]
        kind = ", quadratic and random f and g" if further else ""
        parts.append(f"## {result['dim']}D, noise {result['noise']:g}{kind}")
        parts.append(performance_table(result).to_markdown().strip())
        parts.append(performance_table(result, "auc").to_markdown().strip())
        shares = share_table(result)
        if shares is not None:
            parts.append(shares.to_markdown().strip())
    if speed is not None:
        parts.append("## Time and memory of selection")
        parts.append(
            "CPU milliseconds per round of M/GP-MBTL on one thread and peak memory of the process, "
            "by `python benchmarks/selection_speed.py`; beside it a straightforward round with "
            "GPyTorch (ExactGP, 500 Adam steps), in the same run."
        )
        parts.append(speed_table(speed))
    return "\n\n".join(parts) + "\n"


def speed_table(speed: dict[str, Any]) -> str:
    """The figures of benchmarks/selection_speed.py as Markdown."""
    lines = [
        "| targets | Mountain | not Mountain | slowest round | peak MiB | GPyTorch round | ratio |",
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for m in speed["measured"]:
        ratio = m.get("times_faster_than_gpytorch")
        compared = f"{m['gpytorch_round_ms']:.0f} | {ratio:.0f}" if ratio else "– | –"
        slowest = max(m["mountain"]["worst_ms"], m["not_mountain"]["worst_ms"])
        lines.append(
            f"| {m['targets']} | {m['mountain']['mean_ms']:.1f} | "
            f"{m['not_mountain']['mean_ms']:.1f} | {slowest:.0f} | {m['peak_mib']:.0f} | "
            f"{compared} |"
        )
    return "\n".join(lines)


def readme_table(results: list[dict[str, Any]]) -> str:
    """Aggregated performance, ours and the paper's."""
    lines = [
        "| synthetic data, K = 50 | GP-MBTL | M-MBTL | M/GP-MBTL | M/GP-MBTL, mean over k |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for result in results:
        published = published_table(result["dim"], result["noise"])
        if published is None or "-f-quadratic" in result["configurations"][0]["name"]:
            continue
        cells = [
            f"{result['aggregated'][name]['final']['mean']:.3f} "
            f"[{published.aggregated[name].mean:.3f}]"
            for name in SHOWN
        ]
        auc = f"{result['aggregated']['m/gp-mbtl']['auc']['mean']:.3f}"
        trials = f"{result['trials']} trials" if result["trials"] > 1 else "1 trial"
        name = f"{result['dim']}D, noise {result['noise']:g}, {trials}"
        lines.append("| " + " | ".join([name, *cells, auc]) + " |")
    return "\n".join(lines)


def with_table(readme: str, table: str) -> str:
    """README.md with the table between its marks."""
    before, rest = readme.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{table}\n{END}{after}"


def main() -> None:
    """Write both files, or check them."""
    results = synthetic_results()
    speed_path = RESULTS / "selection-speed.json"
    speed = json.loads(speed_path.read_text()) if speed_path.exists() else None
    wanted = {
        DOCUMENT: document(results, speed),
        README: with_table(README.read_text(), readme_table(results)),
    }
    for path, text in wanted.items():
        if path.exists() and path.read_text() == text:
            continue
        if "--check" in sys.argv:
            sys.exit(f"{path.name} is not what results/*.json say. Run: make tables")
        path.write_text(text)


if __name__ == "__main__":
    main()
