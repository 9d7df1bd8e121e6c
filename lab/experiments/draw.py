"""Draw the figures of the documentation that need a trained policy, a study or a browser.

    python lab/experiments/draw.py coverage               # coverage against steps
    python lab/experiments/draw.py choosing               # policies, their gap and the next one
    python lab/experiments/draw.py season                 # a season of a trained crop policy
    python lab/experiments/draw.py crossing               # SUMO's drivers and a trained policy
    python lab/experiments/draw.py report runs/drone      # the report of a study; needs chromium

Written to docs/figures/.
"""

from __future__ import annotations

import argparse
import io
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiment import FIGURES
from sdmbtl.environments import EnvironmentFamily, make_family
from sdmbtl.files import write_atomically
from sdmbtl.policies import Policy
from sdmbtl.training import TrainingJob, make_trainer

#: Dots per inch of the figures.
RESOLUTION = 100
#: Year of the season that is drawn; no policy was trained on it.
YEAR = 2008
#: Seconds at which the animation of the crossing begins and ends, its seed, and the pixel rows.
BEGIN, END, SEED, ROWS = 134.0, 194.0, 8, slice(90, 210)
#: Picture of a report -> parts of the page on it, the figure among them, and its height.
PICTURES = {
    "report-headline": ("h1, .lead, .tiles, .summary", "#coverage", 850),
    "report-space": ("#figures", "#space", 815),
}
WIDTH = 1180


def draw_coverage() -> None:
    """Draw coverage against total steps of all methods."""
    from generalists.comparison import Comparison
    from generalists.figure import coverage_figure

    path = FIGURES / "coverage-against-steps.png"
    coverage_figure(Comparison.load()).savefig(path, dpi=RESOLUTION)


def draw_choosing() -> None:
    """Draw two policies along one dimension, the gap that they leave, and the next policy."""
    from sdmbtl.palette import BLACK, GREY, policy_colour
    from sdmbtl.plots.files import label_ends, new_figure, plain
    from sdmbtl_lab.figures.transfer_figures import mean_transfer
    from sdmbtl_lab.matrices import load_matrix

    dataset = load_matrix("cartpole-wide")
    returns = mean_transfer(dataset)["length"]
    lengths, places = dataset.space.dimensions["length"].knots, np.arange(len(returns))
    trained = [2, 4]
    best = returns[trained].max(axis=0)
    gains = np.maximum(returns - best, 0.0).mean(axis=1)
    after = int(gains.argmax())
    figure = new_figure((8.0, 3.8))
    axes = figure.add_subplot()
    axes.fill_between(places, best, returns.max(), color=GREY, alpha=0.25, lw=0)
    axes.plot(places, best, color=BLACK, lw=5)
    for number, source in enumerate([*trained, after]):
        colour, dashes = policy_colour(number), "--" if source == after else "-"
        axes.plot(places, returns[source], dashes, color=colour, lw=1.8)
        axes.plot(source, returns[source, source], "*", ms=15, color=colour, mec=BLACK, zorder=3)
    gap = int((returns.max() - best).argmax())
    axes.annotate("gap", (gap, (best[gap] + returns.max()) / 2), ha="center", size=11)
    names = (f"policy {number}" for number in range(2))
    ends = [
        (name, places[-1], returns[source, -1], policy_colour(number))
        for number, (name, source) in enumerate(
            zip((*names, "next"), (*trained, after), strict=True)
        )
    ]
    label_ends(axes, ends)
    axes.set_xticks(places, [f"{length:.2g}" for length in lengths])
    axes.set(xlabel="pole length of the task", ylabel="mean return")
    axes.set_title("The next policy goes where it closes most of the gap")
    plain(axes)
    figure.savefig(FIGURES / "choosing.png", dpi=RESOLUTION)


def train_usual(family: EnvironmentFamily) -> Policy:
    """Train a policy in the usual context of a family."""
    trainer = make_trainer("ppo", family, family.space())
    usual = [[family.defaults[name] for name in trainer.space.names]]
    return trainer.train([TrainingJob(np.array(usual), 0)])[0].policy


def draw_season() -> None:
    """Train a crop policy and draw a season in a year kept from training."""
    from sdmbtl_crops.season_figure import season_figure

    family: Any = make_family("Crop")
    season = play_season(train_usual(family), family)
    season_figure(season).savefig(FIGURES / "crop-season.png", dpi=RESOLUTION)


def play_season(policy: Policy, family: Any) -> Any:
    """Play the season of a policy and gather its curves."""
    import jax
    import jax.numpy as jnp

    from sdmbtl_crops.growth import HECTARE, WILTING, Field
    from sdmbtl_crops.season_figure import Season
    from sdmbtl_crops.weather import load_weather

    weather = load_weather("champion")
    position = weather.years.index(YEAR)
    twin, context = family.functional(), family.defaults
    parameters = jnp.array(list(context.values()), dtype=jnp.float32)
    step, observe = jax.jit(twin.step), jax.jit(twin.observe)
    state = twin.start(*map(jnp.float32, (position, 0.6, 4.0)), parameters)
    states, doses, money, ended = [np.asarray(state)], [], [], False
    while not ended:
        action = int(policy.act(np.asarray(observe(state, parameters))))
        n, w = divmod(action, len(family.irrigation))
        doses.append((family.nitrogen[n], family.irrigation[w]))
        state, reward, ended = step(state, action, parameters)
        states.append(np.asarray(state))
        money.append(float(reward))
    field = Field(*np.stack(states).T[4:].astype(np.float64))
    nitrogen, irrigation = np.array(doses).T
    daily = weather.days[position, :, 3]
    plant = field.leaf_nitrogen + field.stem_nitrogen + field.root_nitrogen + field.grain_nitrogen
    straw = field.leaves + field.dead_leaves + field.stems
    share = (field.water / (1000 * field.depth) - WILTING) / context["soil"]
    return Season(
        title=f"Maize in Champion, Nebraska, {YEAR}: a policy that has not seen this year",
        rain=np.array([daily[day : day + 7].sum() for day in 120 + 7 * np.arange(len(doses))]),
        irrigation=irrigation,
        nitrogen=nitrogen,
        soil_water=np.asarray(share),
        soil_nitrogen=np.asarray(HECTARE * field.mineral),
        crop_nitrogen=np.asarray(HECTARE * plant),
        stage=np.asarray(field.stage),
        straw=np.asarray(straw / 100),
        grain=np.asarray(field.grain / 100),
        money=np.array(money),
    )


def draw_crossing() -> None:
    """Animate the same vehicles driven by SUMO's IDM (above) and by a trained policy (below)."""
    from sdmbtl.plots.animation import save_animation
    from sdmbtl_traffic.crossing import STEP

    family: Any = make_family("Traffic", horizon=END)
    policy = train_usual(family)
    rows = (drive(family, policy, driver) for driver in ("idm", "policy"))
    line = np.full((4, 1000, 3), 255, np.uint8)
    pictures = (np.concatenate([above, line, below]) for above, below in zip(*rows, strict=True))
    save_animation(pictures, FIGURES / "traffic.gif", fps=4 / STEP)  # four times real speed


def drive(family: Any, policy: Policy, driver: str) -> Iterator[NDArray[np.uint8]]:
    """Yield the pictures of an episode, one per step."""
    from sdmbtl_traffic.crossing import STEP

    world = family.make_vector_env()
    world.driver = driver
    now, is_over = world.reset([family.full_context({})], [SEED]), False
    time = family.warm_up * STEP
    while not is_over:
        step = world.step(world.act(policy, now.obs))
        now, is_over, time = step.now, step.is_over, time + STEP
        if time >= BEGIN:
            yield world.render(0)[ROWS]
    world.close()


def draw_report(study: Path) -> None:
    """Photograph parts of the report of a study."""
    from sdmbtl.report import make_page, study_data
    from sdmbtl.studies import Study

    page = make_page(study_data(Study.open(study)))
    page = re.sub(r"<meta http-equiv=.*?>", "", page, count=1)  # it would forbid further styles
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "report.html"
        for name, (parts, drawn, height) in PICTURES.items():
            style = f"#live, footer, main > :not({parts}, #figures), #figures > :not({drawn})"
            style += " { display: none } section { margin-top: 2rem }"
            file.write_text(page.replace("</head>", f"<style>{style}</style></head>", 1))
            write_atomically(FIGURES / f"{name}.png", photograph(file.as_uri(), height, folder))


def photograph(address: str, height: int, folder: str) -> bytes:
    """Return a PNG file of a page, with few colours."""
    from PIL import Image

    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        raise SystemExit("There is no browser. Install chromium.")
    shot = f"{folder}/shot.png"
    subprocess.run(  # noqa: S603 (a program that was just found)
        [
            *(browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
            *("--force-prefers-reduced-motion", "--virtual-time-budget=5000"),
            *(f"--window-size={WIDTH},{height}", f"--screenshot={shot}"),
            *(f"--user-data-dir={folder}/profile", address),
        ],
        check=True,
        capture_output=True,
    )
    drawn = io.BytesIO()
    with Image.open(shot) as image:
        image.convert("RGB").save(drawn, format="png", optimize=True)
    return drawn.getvalue()


def main() -> None:
    """Draw a figure."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    draw = {
        "coverage": draw_coverage,
        "choosing": draw_choosing,
        "season": draw_season,
        "crossing": draw_crossing,
    }
    parser.add_argument("figure", choices=(*draw, "report"))
    parser.add_argument("study", nargs="?", type=Path, default=Path("runs/cartpole"))
    given = parser.parse_args()
    if given.figure == "report":
        draw_report(given.study)
    else:
        draw[given.figure]()


if __name__ == "__main__":
    main()
