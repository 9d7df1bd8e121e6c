"""One permanent colour for each policy, the same in every figure and on the page."""

from __future__ import annotations

#: Six colours of Okabe and Ito's set, which differ for every kind of colour vision.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
#: Greys of all further policies; neighbours differ.
GREYS = ("#6f6f6f", "#a0a0a0", "#c9c9c9")


def policy_colour(number: int) -> str:
    """Return the colour of the policy with this id."""
    if number < len(COLOURS):
        return COLOURS[number]
    return GREYS[(number - len(COLOURS)) % len(GREYS)]
