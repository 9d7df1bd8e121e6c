"""The circle closed: specialists start from the network that was distilled from those before.

    python lab/experiments/circle.py --only "CartPole wide" --seeds 5

The circle trains N policies, distils them, trains N more, of which the first starts from the
network, and distils these. One pass then has at least as many steps to train and evaluate, and
distils once. A network plays the same share of the steps of its teachers everywhere.

Every study, network and evaluation is kept in the directory for work: the same command continues.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from distillation import measure_network, measure_portfolio
from experiment import STUDY_CODE, read_result, save_result
from generalists.data_sets import DATA_SETS, DataSet
from sdmbtl.policies import MlpPolicy, load_policy, save_policy
from sdmbtl.portfolio.distillation.network import LAYERS
from sdmbtl.studies import Study

#: Training starts from a network of its own form, so all policies have the form of a student.
FORM = {"hidden_sizes": list(LAYERS), "norm_obs": True}


def main() -> None:
    """Measure every data set, seed by seed; what is in the result is not measured again."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, default=Path("work/circle"))
    parser.add_argument("--out", type=Path, help="result file, if not results/circle.json")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--policies", type=int, default=6, help="policies of half of the circle")
    parser.add_argument("--only", nargs="*", help="names of data sets")
    parser.add_argument("--steps", type=int, help="steps of one policy, for a short trial")
    given = parser.parse_args()
    content = read_result("circle", given.out)
    form = FORM if given.steps is None else {**FORM, "total_timesteps": given.steps}
    for seed in range(given.seeds):
        for data in DATA_SETS:
            known = content.setdefault("data", {}).setdefault(data.name, {})
            if str(seed) in known or (given.only and data.name not in given.only):
                continue
            path = given.work / f"{data.name.replace(' ', '-')}-{seed}"
            known[str(seed)] = measure(data, seed, path, given.policies, form)
            print(data.name, seed, known[str(seed)], flush=True)
            code = (*STUDY_CODE, "sdmbtl.portfolio")
            save_result("circle", content, given.out, code=code)


def measure(
    data: DataSet, seed: int, path: Path, policies: int, form: dict[str, Any]
) -> dict[str, Any]:
    """Measure the two halves of the circle, and one pass."""

    def train_and_distil(
        name: str, parent: Path | None = None, **stop_when: int
    ) -> dict[str, dict[str, Any]]:
        study = Study.open(
            path / name,
            data.environment,
            space=data.space,
            trainer="ppo",
            trainer_options=form,
            selector_options={} if parent is None else {"sees_context": "always"},
            seed=seed,
        )
        if parent is not None:
            study.start_from(parent)
        study.run(**stop_when, progress=False, eval_processes=1)  # type: ignore[arg-type]
        portfolio = study.portfolio()
        measured = measure_portfolio(study, portfolio)
        network = measure_network(study, portfolio, "told")
        study.close()
        return {"portfolio": measured, "network": network}

    first = train_and_distil("first", budget=policies)
    parent = path / "parent.safetensors"
    save_policy(parent, as_parent(load_policy(path / "first" / "networks" / "told.safetensors")))
    # The network is a policy of the second study, with 0 steps.
    second = train_and_distil("second", parent, budget=policies + 1)
    steps = first["portfolio"]["steps"] + second["portfolio"]["steps"]
    one_pass = train_and_distil("one-pass", total_steps=steps)
    return {"first half": first, "second half": second, "one pass": one_pass}


def as_parent(network: Any) -> MlpPolicy:
    """Return a network that is told the context as a policy that sees it, to start from."""
    layers = network.head
    return MlpPolicy(
        *(layers.weights, layers.biases, layers.shift, layers.scale),
        limit=layers.limit,
        action_space=layers.action_space,
        sees_context=True,
    )


if __name__ == "__main__":
    main()
