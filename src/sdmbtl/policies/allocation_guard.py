"""Keeps a network from growing beyond the weights that there are for it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self

import torch
from torch.overrides import TorchFunctionMode

from sdmbtl.foreign import check_size

#: What the layers of a network are allocated with.
_ALLOCATING = (torch.empty, torch.zeros, torch.ones, torch.full, torch.rand, torch.randn)
#: Bytes of critics, whose weights the file of a policy leaves out.
MAX_LEFT_OUT = 256 * 2**20
#: A weight counts at least as much, so that their number is limited too.
_LEAST_BYTES = 2**16


class AllocationGuard(TorchFunctionMode):
    """Counts what is allocated while a network is made, and refuses what nobody has weights for.

    A description of some bytes can ask for layers of any size. Those that acting needs are in the
    file, as large as they are; critics may be missing, and are limited.

    Args:
        known: Bytes of the weights that there are.
    """

    def __init__(self, known: int) -> None:
        super().__init__()
        self._left_out = -known

    @classmethod
    def of(cls, weights: Iterable[torch.Tensor]) -> Self:
        """The guard of a network with these weights."""
        return cls(sum(_counted(tensor.nbytes) for tensor in weights))

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Call a function of torch, after its size was checked if it allocates."""
        kwargs = dict(kwargs or {})
        if func in _ALLOCATING:
            size = kwargs.get("size", args)
            self._left_out += _counted(_entries(size) * torch.get_default_dtype().itemsize)
            check_size("What a network has beyond its weights", self._left_out, MAX_LEFT_OUT)
        return func(*args, **kwargs)


def _counted(size: int) -> int:
    return max(size, _LEAST_BYTES)


def _entries(size: Any) -> int:
    """The entries of a tensor, from its size: numbers, or one sequence of them."""
    sizes = size[0] if size and isinstance(size[0], list | tuple) else size
    return math.prod(entry for entry in sizes if isinstance(entry, int))
