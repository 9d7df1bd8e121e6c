"""`sdmbtl lab figures`."""

from dataclasses import replace
from pathlib import Path

from sdmbtl_lab.benchmarks import BenchmarkResult

ROOT = Path(__file__).parents[3]


def test_the_figures_of_a_data_set(command, tmp_path):
    out, kind = tmp_path / "figures", "png"
    given = ["--data", "bipedal-walker,synthetic", "--timed", 2, "--matrices", 2]
    result = command("figures", *given, "--format", kind, "-o", out)
    assert result.stderr.count("Drawn: ") == 6
    assert result.stderr.endswith(f"The captions are in {out / 'captions.txt'}.\n")
    drawn = sorted(path.name for path in out.glob(f"*.{kind}"))
    assert drawn == [
        f"cpu-time-selectors.{kind}",
        f"f-g-h-bipedal-walker.{kind}",
        f"seeds-and-drawn-bipedal-walker.{kind}",
        f"transfer-by-dimension-bipedal-walker.{kind}",
        f"transfer-matrices-synthetic.{kind}",
        f"transfer-matrix-bipedal-walker.{kind}",
    ]
    assert all((out / name).read_bytes().startswith(b"\x89PNG") for name in drawn)
    captions = (out / "captions.txt").read_text().splitlines()
    assert sorted(line.partition(": ")[0] for line in captions) == drawn
    numbers = {line.split(".")[0]: line.split()[-4] for line in captions}
    assert numbers["transfer-by-dimension-bipedal-walker"] == "8"
    assert numbers["transfer-matrices-synthetic"] == "13"
    assert numbers["cpu-time-selectors"] == "4"


def test_the_figures_of_a_benchmark_as_json(command, tmp_path):
    result = BenchmarkResult.load(ROOT / "results" / "real.json")
    replace(result, problems=result.problems[:2]).save(tmp_path / "real.json")
    given = [tmp_path / "real.json", "--data", "", "--format", "png", "-o", tmp_path]
    found = command.json("figures", *given)
    figures = found["figures"]
    assert found["left_out"] == ["of score-real: acrobot (choosing hardly matters)"]
    names = {"choices", "curves", "intervals", "policies-to-epsilon", "score"}
    assert {Path(figure["file"]) for figure in figures} == set(tmp_path.glob("*.png"))
    assert {path.stem for path in tmp_path.glob("*.png")} == {f"{name}-real" for name in names}
    assert all(figure["caption"] for figure in figures)


def test_nothing_is_written_if_something_cannot_be_read(command, tmp_path):
    out = tmp_path / "figures"
    wrong = tmp_path / "wrong.json"
    wrong.write_text("{}")
    assert "wrong.json" in command.error("figures", wrong, "--data", "bipedal-walker", "-o", out)
    assert "Did you mean 'acrobot'" in command.error("figures", "--data", "acrobt", "-o", out)
    assert not out.exists()
