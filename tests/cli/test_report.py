"""`sdmbtl report` and the lists of environments and trainers."""

import http.client
import re
import signal
import socket

from command_runner import started

from sdmbtl.environments import family_names


def test_a_page_is_written_into_the_study(command, copied):
    result = command("report", copied)
    assert result.stdout == ""
    assert re.fullmatch(r"Wrote \S+report.html \(\d\.\d MB\)\.\n", result.stderr)
    assert "CartPole" in (copied / "report.html").read_text()
    assert command("doctor", copied).exit_code == 0, "the page does no harm to a study"


def test_a_page_elsewhere(command, trained, tmp_path):
    file = tmp_path / "page.html"
    found = command.json("report", trained[0], "-o", file)
    assert found == {"path": str(trained[0]), "report": str(file), "bytes": file.stat().st_size}


def test_wrong_use_of_live(command, trained, tmp_path):
    error = command.error("report", trained[0], "--live", "-o", tmp_path / "page.html")
    assert "writes no file" in error
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        error = command.error("report", trained[0], "--live", "--port", port)
    assert f"Port {port} cannot be used: Address already in use." in error


def test_a_live_page_ends_with_a_signal(trained):
    process = started("report", trained[0], "--live")
    port = int(re.search(r"http://127\.0\.0\.1:(\d+)/", process.stdout.readline())[1])
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    connection.request("GET", "/")
    assert b"CartPole" in connection.getresponse().read()
    connection.close()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 130
    assert errors.endswith("Stopped the live page.\n")


# -- environments and trainers ---------------------------------------------------------------------


def test_environments(command):
    found = {entry["name"]: entry for entry in command.json("environments")}
    assert set(found) == set(family_names())
    assert found["CartPole"]["spaces"]["wide"]["targets"] == 512
    text = command("environments").stdout
    assert "    length: 8 values, 0.05 to 5 (log)" in text
    assert max(map(len, text.splitlines())) <= 80


def test_trainers(command):
    assert command("trainers").stdout.startswith("ppo\n    PPO")
    assert {trainer["name"] for trainer in command.json("trainers")} == {"ppo", "sb3"}


def test_settings_with_defaults_and_meanings(command):
    text = command("trainers", "ppo").stdout
    assert "\ngamma = 0.99\n    Discount factor" in text
    assert max(map(len, text.splitlines())) <= 80
    assert "\ngamma = 0.99  (Pendulum: 0.9)\n" in command("trainers", "sb3", "Pendulum").stdout
    settings = {s["name"]: s for s in command.json("trainers", "sb3", "--algorithm", "DQN")}
    assert settings["exploration_fraction"]["default"] == 0.1
    auto = command.json("trainers", "auto", "CartPole")
    assert auto == command.json("trainers", "ppo", "CartPole")


def test_an_environment_of_gymnasium_needs_its_space(command, tmp_path):
    (tmp_path / "lander.toml").write_text("[dimensions.gravity]\nvalues = [-10, -5]\n")
    asked = ["trainers", "ppo", "gym:LunarLander-v3"]
    text = command(*asked, "--space", tmp_path / "lander.toml").stdout
    assert "\ngamma = 0.99  (gym:LunarLander-v3: 0.999)\n" in text
    assert "space" in command.error(*asked)
    assert "Give ENV after NAME." in command.error("trainers", "ppo", "--space", "lander.toml")
    assert "Did you mean 'sb3'" in command.error("trainers", "sb4")
    assert "'SACK'" in command.error("trainers", "sb3", "--algorithm", "SACK")
