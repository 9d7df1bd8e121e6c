"""Contexts: named dimensions, the targets Y, the box X around them."""

from sdmbtl.contexts.dimension import Dimension, Interval, Levels
from sdmbtl.contexts.source import Source
from sdmbtl.contexts.space import ContextLike, ContextSpace

__all__ = ["ContextLike", "ContextSpace", "Dimension", "Interval", "Levels", "Source"]
