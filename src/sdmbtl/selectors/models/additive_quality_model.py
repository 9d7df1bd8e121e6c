"""Additive with free policy quality."""

from __future__ import annotations

from sdmbtl.selectors.models.additive_model import AdditiveModel


class AdditiveQualityModel(AdditiveModel):
    """As additive, and each policy is better or worse by the same amount on all targets.

    The quality may be any smooth function of the source, and it varies from run to run.
    """

    name = "additive-quality"
    free_quality = True
    words = (
        "some policies are better than others everywhere, and returns change steadily with the "
        "distance from the source"
    )
