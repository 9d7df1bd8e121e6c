"""One network against the portfolio that it was distilled from, and identification by returns.

    python lab/experiments/distillation.py --seeds 5

Every study, network and evaluation is kept in the directory for work: the same command continues.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiment import STUDY_CODE, read_result, save_result
from generalists.data_sets import DATA_SETS, DataSet
from sdmbtl.policies import load_policy
from sdmbtl.portfolio import Identification, Portfolio
from sdmbtl.portfolio.distillation import Distiller, distill_to_file
from sdmbtl.seeds import derived_seed
from sdmbtl.studies import Study
from sdmbtl.training import evaluate

#: Measurements of a study.
PARTS = ("portfolio", "told", "identify", "hidden", "recurrent")
#: Episodes on each target by which networks and portfolios are compared.
EPISODES = 10
#: Targets on which identification is tried, and episodes of each policy on each.
TRIED, PLAYED = 100, 20
#: Numbers of episodes after which it is judged.
AFTER = (0, 1, 2, 3, 5)
#: A policy is right if it loses no more than this share of the range of returns.
WITHIN = 0.05
#: Steps of a distillation as a share of those of its study; the last round may take a few more.
SHARE = 0.28
#: Most steps of recurrent PPO, which takes long.
MOST_RECURRENT = 1_000_000

Floats = NDArray[np.float64]


def main() -> None:
    """Measure every data set, seed by seed; what is in the result is not measured again."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, default=Path("work/distillation"))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--budget", type=int, default=12, help="policies of a study at most")
    parser.add_argument("--only", nargs="*", help="names of data sets")
    parser.add_argument("--parts", nargs="*", default=PARTS[:4], choices=PARTS)
    arguments = parser.parse_args()
    for seed in range(arguments.seeds):
        for data in DATA_SETS:
            if arguments.only and data.name not in arguments.only:
                continue
            path = arguments.work / f"{data.name.replace(' ', '-')}-{seed}"
            measure(data, seed, path, arguments.budget, arguments.parts)


def measure(data: DataSet, seed: int, path: Path, budget: int, names: Sequence[str]) -> None:
    """Measure one study and its networks."""
    content = read_result("distillation")
    known = content.setdefault("data", {}).setdefault(data.name, {}).setdefault(str(seed), {})
    study = Study.open(path, data.environment, space=data.space, trainer="ppo", seed=seed)
    study.run(budget=budget, min_gain=0.005, progress=False, eval_processes=1)
    portfolio = study.portfolio()
    parts: dict[str, Callable[[], dict[str, Any]]] = {
        "portfolio": lambda: measure_portfolio(study, portfolio),
        "told": lambda: measure_network(study, portfolio, "told"),
        "identify": lambda: measure_identification(study, portfolio),
        "hidden": lambda: measure_network(study, portfolio, "hidden"),
        "recurrent": lambda: measure_recurrent(study, data, known["hidden"]),
    }
    for name in names:
        if name not in known:
            known[name] = parts[name]()
            print(data.name, seed, name, known[name], flush=True)
            save_result("distillation", content, code=(*STUDY_CODE, "sdmbtl.portfolio"))
    study.close()


def measure_portfolio(study: Study, portfolio: Portfolio) -> dict[str, Any]:
    """Coverage of the portfolio in new episodes, and of its best policy for all targets."""
    fresh = study.evaluate(episodes=EPISODES, seed=1, eval_processes=1)
    single = portfolio.members[int(portfolio.means.mean(axis=1).argmax())]
    seed = derived_seed(study.configuration.seed, "fresh single")
    alone = evaluate(
        study.training,
        portfolio.policy(single.id),
        study.space.targets,
        episodes=EPISODES,
        seed=seed,
    )
    return {
        "policies": len(portfolio),
        "steps": study.steps,
        "evaluation_steps": study.evaluation_steps,
        "coverage": study.share(float(fresh.mean())),
        "best_single": study.share(float(alone.returns.mean())),
    }


def measure_network(study: Study, portfolio: Portfolio, context: Any) -> dict[str, Any]:
    """Coverage of a network in new episodes."""
    distiller = Distiller(portfolio, study.family, context, seed=study.configuration.seed)
    path = study.path / "networks" / f"{context}.safetensors"
    record = distill_to_file(path, distiller, int(SHARE * study.steps))
    seed = derived_seed(study.configuration.seed, "fresh network")
    network: Any = load_policy(path)
    played = distiller.evaluate(network, study.space.targets, episodes=EPISODES, seed=seed)
    return {
        "coverage": study.share(float(played.returns.mean())),
        "recorded": study.share(record.mean_return),
        "steps": record.steps,
        "evaluation_steps": record.evaluation_steps,
    }


def measure_recurrent(study: Study, data: DataSet, hidden: dict[str, Any]) -> dict[str, Any]:
    """Coverage of recurrent PPO that has as many steps as the study and its hidden network."""
    from recurrent_ppo import train_and_play

    total = study.steps + hidden["steps"] + hidden["evaluation_steps"]
    steps = min(total, MOST_RECURRENT)
    returns = train_and_play(data, study.configuration.seed, steps, EPISODES)
    return {"coverage": study.share(float(returns.mean())), "steps": steps}


def measure_identification(study: Study, portfolio: Portfolio) -> dict[str, Any]:
    """Share of contexts in which the right policy is found, by the number of episodes."""
    rng = np.random.default_rng(study.configuration.seed)
    number = min(TRIED, len(study.space))
    targets = study.space.targets[rng.choice(len(study.space), number, replace=False)]
    returns = np.stack(
        [
            evaluate(
                study.training, portfolio.policy(m.id), targets, episodes=PLAYED, seed=5
            ).returns
            for m in portfolio
        ]
    )  # (k, n, episodes)
    means = returns.mean(axis=2)
    right = is_right(means, study.return_span)
    # Policies that see the context cannot act without it: `identify` chooses among the others.
    seeing = [portfolio.policy(m.id).sees_context for m in portfolio]
    usable = np.where(np.array(seeing)[:, None], -np.inf, means)
    judged = {"right_after": right, "right_usable_after": is_right(usable, study.return_span)}
    chosen = np.empty((max(AFTER) + 1, number), np.intp)
    begun = portfolio.identify()
    for place in range(number):
        search = Identification(begun.portfolio, begun.weights)
        for episode, policies in enumerate(chosen):
            policies[place] = portfolio.places[search.choose().policy]
            asked = search.ask().policy
            search.tell(asked, returns[portfolio.places[asked], place, episode])
    contexts = np.arange(number)
    lost = means.max(axis=0) - usable.max(axis=0)
    told = [right[portfolio.places[portfolio.choose(t).policy], i] for i, t in enumerate(targets)]
    return {
        "contexts": number,
        **{
            name: {str(after): table[chosen[after], contexts].mean() for after in AFTER}
            for name, table in judged.items()
        },
        "right_with_context": float(np.mean(told)),
        "lost_by_usable": float(lost.mean() / study.return_span),
    }


def is_right(means: Floats, span: float) -> NDArray[np.bool_]:
    """(k, n) True where a policy is within 5 % of the best of them."""
    return np.asarray(means >= means.max(axis=0) - WITHIN * span)


if __name__ == "__main__":
    main()
