"""What users write for the trainer sb3: a policy class, and functions that make callbacks."""

from pathlib import Path

from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.policies import ActorCriticPolicy


class NarrowPolicy(ActorCriticPolicy):
    """An actor and a critic with three units each."""

    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **{**named, "net_arch": [3]})


class StopEarly(BaseCallback):
    """Ends training after 100 steps."""

    def _on_step(self):
        return self.num_timesteps < 100


class Count(BaseCallback):
    """Writes the number of its steps to a file, at the end."""

    def _on_step(self):
        return True

    def _on_training_end(self):
        Path("steps.txt").write_text(f"{self.n_calls} {self.num_timesteps}")


def make_counter():
    return Count()


def make_nothing():
    return None
