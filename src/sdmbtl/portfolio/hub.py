"""Portfolios on the Hugging Face Hub: files as `Portfolio.export` writes them, and a model card."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from sdmbtl.errors import MissingPackageError

if TYPE_CHECKING:
    from sdmbtl.portfolio.portfolio import Portfolio

_CARD = """---
library_name: sdmbtl
pipeline_tag: reinforcement-learning
tags:
- reinforcement-learning
- contextual-reinforcement-learning
- sdmbtl
---
# {repo_id}

A portfolio of policies for {environment}: each context has the policy with the highest expected
return.

```text
{description}
```

Contexts:

{dimensions}

```python
from sdmbtl.portfolio import Portfolio

portfolio = Portfolio.load_from_hub("{repo_id}")
policy = portfolio.policy_for({context})
action = policy.act(observation)
```
"""


def model_card(portfolio: Portfolio, repo_id: str) -> str:
    """Return the text of the README.md of a repository."""
    space, family = portfolio.space, portfolio.family
    return _CARD.format(
        repo_id=repo_id,
        environment="environments of its maker" if family is None else f"`{family['name']}`",
        description=portfolio.describe(),
        dimensions="\n".join(f"- `{name}`: {d}" for name, d in space.dimensions.items()),
        context=space.middle(),
    )


def push(portfolio: Portfolio, repo_id: str, *, private: bool, api: Any) -> str:
    """Upload the portfolio and a model card; see `Portfolio.push_to_hub`."""
    api = hub_api() if api is None else api
    with TemporaryDirectory() as parent:
        folder = Path(parent) / "portfolio"
        portfolio.export(folder)
        (folder / "README.md").write_text(model_card(portfolio, repo_id), encoding="utf-8")
        api.create_repo(repo_id, private=private, exist_ok=True)
        # Names of policy files follow from their content: those of an older portfolio would stay.
        made = api.upload_folder(
            repo_id=repo_id, folder_path=str(folder), delete_patterns=["*.safetensors", "*.npz"]
        )
    return str(made)


def hub_api() -> Any:
    """Return the access to the Hub."""
    try:
        from huggingface_hub import HfApi
    except ModuleNotFoundError:
        raise MissingPackageError.of("The Hugging Face Hub", "huggingface_hub", "hub") from None
    return HfApi()
