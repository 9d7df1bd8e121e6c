"""Seeds by stable keys: the same root and key give the same seed, whatever came before."""

from __future__ import annotations

import hashlib

import numpy as np


def seed_sequence(seed: int, key: str, *numbers: int) -> np.random.SeedSequence:
    """Return the child of a root seed for a purpose (`key`) and its numbers."""
    digest = hashlib.sha256(key.encode()).digest()
    words = [int.from_bytes(digest[i : i + 4], "little") for i in (0, 4)]
    return np.random.SeedSequence(seed, spawn_key=(*words, *numbers))


def derived_seed(seed: int, key: str, *numbers: int) -> int:
    """Return a seed of 32 bits for a purpose, for libraries that take whole numbers."""
    return int(seed_sequence(seed, key, *numbers).generate_state(1)[0])


def episode_seed(seed: int, number: int, episode: int) -> int:
    """Return the seed of an episode: the same, whatever else is played."""
    return int(np.random.SeedSequence([seed, number, episode]).generate_state(1)[0])
