"""`sdmbtl trainers`."""


def test_every_trainer_is_listed(command):
    text = command("trainers").stdout
    assert text.startswith("ppo\n    PPO")
    assert "\nsb3\n    Any algorithm of Stable-Baselines3" in text
    found = {trainer["name"]: trainer for trainer in command.json("trainers")}
    assert set(found) == {"ppo", "sb3"}
    assert found["sb3"]["starts_from_parent"]


def test_settings_with_defaults_and_meanings(command):
    text = command("trainers", "ppo").stdout
    assert "\ngamma = 0.99\n    Discount factor.\n" in text
    assert max(map(len, text.splitlines())) <= 80
    text = command("trainers", "sb3", "Pendulum").stdout
    assert "\ngamma = 0.99  (Pendulum: 0.9)\n    Discount factor\n" in text
    assert "\nnum_steps = not set  (Pendulum: 1024)\n" in text
    settings = {s["name"]: s for s in command.json("trainers", "sb3", "--algorithm", "DQN")}
    assert settings["exploration_fraction"]["default"] == 0.1
    assert command.json("trainers", "auto", "CartPole") == command.json(
        "trainers", "ppo", "CartPole"
    )


def test_an_environment_of_gymnasium_has_its_space(command, tmp_path):
    (tmp_path / "lander.toml").write_text("[dimensions.gravity]\nvalues = [-10, -5]\n")
    asked = ["trainers", "ppo", "gym:LunarLander-v3"]
    text = command(*asked, "--space", tmp_path / "lander.toml").stdout
    assert "\ngamma = 0.99  (gym:LunarLander-v3: 0.999)\n" in text, "what 'ppo' knows of it"
    assert "need a context space: --space FILE.toml" in command.error(*asked)
    assert "Give ENV after NAME." in command.error("trainers", "ppo", "--space", "lander.toml")


def test_names_that_are_unknown(command):
    assert "Did you mean 'sb3'" in command.error("trainers", "sb4")
    assert "Unknown algorithm 'SACK'" in command.error("trainers", "sb3", "--algorithm", "SACK")
