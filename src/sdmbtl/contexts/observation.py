"""The only place where the context enters what a policy sees."""

from __future__ import annotations

from typing import Any


def append_context(observation: Any, coordinates: Any) -> Any:
    """Append the unit coordinates of a context to an observation, or to a batch of them.

    Args:
        observation: (..., O) array of NumPy or JAX.
        coordinates: (D,) or (..., D) unit coordinates; D = 0 leaves the observation as it is.

    Returns:
        (..., O + D) array of the observation's floating type; float32 for integers.
    """
    xp = observation.__array_namespace__()
    size = coordinates.shape[-1]
    if not size:
        return observation
    if not xp.isdtype(observation.dtype, "real floating"):  # integers would cut coordinates off
        observation = observation.astype(xp.float32)
    rows = xp.broadcast_to(xp.asarray(coordinates), (*observation.shape[:-1], size))
    return xp.concatenate([observation, rows.astype(observation.dtype)], axis=-1)
