"""`sdmbtl plot`."""

import pytest
from PIL import Image


@pytest.mark.parametrize("what", ["map", "coverage", "rows", "curves"])
def test_a_figure_is_written(command, trained, tmp_path, what):
    file = tmp_path / f"{what}.png"
    result = command("plot", trained[0], "--what", what, "-o", file)
    assert result.stderr == f"Wrote {file}.\n"
    with Image.open(file) as image:
        assert len(image.convert("RGB").getcolors(1_000_000)) > 10


def test_as_json(command, trained, tmp_path):
    file = tmp_path / "map.png"
    found = command.json("plot", trained[0], "-o", file)
    assert found == {"path": str(trained[0]), "what": "map", "figure": str(file)}
    assert file.exists()


def test_a_map_through_a_context(command, trained, tmp_path):
    file = tmp_path / "map.svg"
    context = "length=0.1 masscart=5 masspole=0.02"
    command(
        "plot", trained[0], "-o", file, "--x", "length", "--y", "masscart", "--context", context
    )
    assert "<!-- masspole 0.02 -->" in file.read_text()


def test_what_is_wrong_is_said(command, trained, tmp_path):
    path = trained[0]
    assert "Got 'a.txt'" in command.error("plot", path, "-o", tmp_path / "a.txt")
    wrong = command.error("plot", path, "--what", "rows", "--x", "length", "-o", tmp_path / "a.png")
    assert "belong to a map" in wrong
    assert "Did you mean 'length'" in command.error(
        "plot", path, "--x", "lenght", "-o", tmp_path / "a.png"
    )
