"""Contexts: named dimensions, the targets Y, the box X around them; spaces from TOML files."""

from sdmbtl.contexts.dimension import Categories, Dimension, Interval, Levels, Range
from sdmbtl.contexts.source import Source
from sdmbtl.contexts.space import ContextLike, ContextSpace, space_from_ranges
from sdmbtl.contexts.target_sample import TargetSample
from sdmbtl.contexts.toml import SpaceLike, load_space, read_space

__all__ = [
    "Categories",
    "ContextLike",
    "ContextSpace",
    "Dimension",
    "Interval",
    "Levels",
    "Range",
    "Source",
    "SpaceLike",
    "TargetSample",
    "load_space",
    "read_space",
    "space_from_ranges",
]
