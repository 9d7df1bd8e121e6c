"""`sdmbtl curves`."""

from sdmbtl.studies import Study


def test_curves_are_printed_or_written(command, trained, tmp_path):
    path, _ = trained
    printed = command("curves", path).stdout
    header, *rows = printed.splitlines()
    assert header == "policy,steps,mean_return,source,seed,attempt"
    curves = [(t.id, *point) for t in Study.open(path).trials for point in t.run.curve]
    assert [tuple(map(float, row.split(",")[:3])) for row in rows] == curves
    file = tmp_path / "curves.csv"
    assert command("curves", path, "--csv", file).stdout == ""
    assert file.read_text() == printed


def test_a_study_without_policies_has_a_header_only(command, tiny, tmp_path):
    command("ask", tmp_path / "study", "--space", tiny)
    assert len(command("curves", tmp_path / "study").stdout.splitlines()) == 1
