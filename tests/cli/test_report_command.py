"""`sdmbtl report` and `sdmbtl watch`."""

import http.client
import json
import re
import shutil
import signal
import socket

import pytest
from command_runner import started

from sdmbtl.studies import Study


def data_of(file):
    """What the page in a file shows."""
    text = file.read_text().partition('id="data">')[2].partition("</script>")[0]
    return json.loads(text)


def test_a_page_is_written_beside_the_study(command, trained, tmp_path):
    path = tmp_path / "copy"
    shutil.copytree(trained[0], path)
    result = command("report", path)
    assert result.stdout == ""
    assert re.fullmatch(r"Wrote \S+report.html \(0\.\d MB\)\.\n", result.stderr)
    shown = data_of(path / "report.html")
    assert shown["headline"].startswith("CartPole: 3 policies, coverage 0.")
    assert len(shown["policies"][0]["curve"]) > 0, "learning curves"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", shown["made"])
    assert command("doctor", path).exit_code == 0, "the page does no harm to a study"


def test_the_command_in_it_has_the_settings_of_the_run(command, trained, tmp_path):
    command("report", trained[0], "--out", tmp_path / "page.html")
    found = data_of(tmp_path / "page.html")["reproduction"]["command"]
    for part in ("run CartPole", "--width 0 --init scratch", "--seed 1", "--budget 3"):
        assert part in found


def test_as_json(command, trained, tmp_path):
    file = tmp_path / "page.html"
    found = command.json("report", trained[0], "-o", file)
    expected = {"path": str(trained[0]), "report": str(file), "bytes": file.stat().st_size}
    assert found == expected


@pytest.mark.parametrize("name", ["report", "watch"])
def test_what_cannot_be_shown_is_said(command, tmp_path, name):
    assert "There is nothing at" in command.error(name, tmp_path / "nowhere")
    assert "There is not a study in" in command.error(name, tmp_path)
    other = tmp_path / "other.json"
    other.write_text("{}")
    assert "is not a result" in command.error(name, other)


def test_a_place_that_cannot_be_written_is_said(command, trained, tmp_path):
    place = tmp_path / "none" / "page.html"
    assert "Cannot use" in command.error("report", trained[0], "--out", place)


def test_a_taken_port_is_said(command, trained):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        error = command.error("watch", trained[0], "--port", port)
    assert f"Port {port} cannot be used: Address already in use." in error


def test_watching_ends_with_a_signal(trained):
    process = started("watch", trained[0])
    line = process.stdout.readline()
    port = int(re.search(r"http://127\.0\.0\.1:(\d+)/", line)[1])
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", "/data.json")
    shown = json.loads(connection.getresponse().read())
    connection.close()
    assert shown["policies"][2]["reason"] == Study.open(trained[0]).trials[2].reason
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors.endswith("Stopped watching.\n")
