"""Environment families: Gymnasium environments indexed by a context.

>>> from sdmbtl.environments import make_family
>>> family = make_family("cartpole")
>>> env = family.make({"length": 1.0})
>>> observation, info = env.reset(seed=0)
>>> info["context"]
{'length': 1.0, 'masscart': 1.0, 'masspole': 0.1, 'force_mag': 10.0, 'gravity': 9.8}
>>> observation, info = env.reset(options={"context": {"length": 0.3, "masscart": 2.0}})
>>> len(family.space()), family.space().names
(512, ('length', 'masscart', 'masspole'))

Needs Gymnasium: `pip install 'sdmbtl[environments]'`.
"""

from sdmbtl.errors import MissingPackageError as _MissingPackageError

try:
    import gymnasium as _gymnasium  # noqa: F401 - first of all, for the message
except ModuleNotFoundError as _error:
    if _error.name != "gymnasium":
        raise
    raise _MissingPackageError(
        "Environments need Gymnasium, which is not installed. Install it with: "
        "pip install 'sdmbtl[environments]'",
        name="gymnasium",
    ) from None

from sdmbtl.environments.checks import ContextualEnvReport, check_contextual_env
from sdmbtl.environments.contextual import ContextualEnv
from sdmbtl.environments.factory import FactoryFamily
from sdmbtl.environments.family import EnvironmentFamily
from sdmbtl.environments.gymnasium_family import GymnasiumFamily
from sdmbtl.environments.registry import family_names, make_family, register_environments
from sdmbtl.environments.vector import ContextInDict, ContextualVectorEnv, DrawnContexts

__all__ = [
    "ContextInDict",
    "ContextualEnv",
    "ContextualEnvReport",
    "ContextualVectorEnv",
    "DrawnContexts",
    "EnvironmentFamily",
    "FactoryFamily",
    "GymnasiumFamily",
    "check_contextual_env",
    "family_names",
    "make_family",
    "register_environments",
]

register_environments()
