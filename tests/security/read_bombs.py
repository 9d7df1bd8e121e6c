"""Reads every crafted file in a process whose memory is limited, and prints what came of each.

Started by a test: in a process of its own, because the peak of one that has done other things
says nothing. Prints JSON: name -> [error, message, seconds].
"""

import json
import resource
import tempfile
import time
from pathlib import Path

import crafted_bombs as bombs

from sdmbtl.contexts import load_space
from sdmbtl.errors import SdmbtlError
from sdmbtl.policies import load_policy
from sdmbtl.portfolio import Portfolio
from sdmbtl.studies import Study
from sdmbtl.transfer import ObservedRows
from sdmbtl_crops.weather import load_weather
from sdmbtl_lab.benchmarks import BenchmarkResult
from sdmbtl_lab.matrices.region_recipe import RegionRecipe

#: What reading may take beyond what is there before, in bytes.
ALLOWED = 500 * 10**6


def cases(folder):
    """Name of each case, what makes it, and what reads it."""
    for name, make in {**bombs.NPZ, **bombs.HARMLESS_NPZ}.items():
        yield f"npz {name}", make, ObservedRows.load
    for name, text in bombs.TOML.items():
        yield f"toml {name}", lambda path, text=text: path.write_text(text), load_space
    for kind, files in (("policy", bombs.POLICIES), ("network", bombs.NETWORKS)):
        for name, make in files.items():
            yield f"{kind} {name}", lambda path, make=make: path.write_bytes(make()), load_policy
    for name, make in bombs.RECIPES.items():
        yield f"recipe {name}", make, RegionRecipe.load
    for name, text in bombs.JSON.items():
        yield f"result {name}", writing(text), BenchmarkResult.load
    for name, text in bombs.WEATHER.items():
        yield f"weather {name}", writing_weather(text), read_weather
    for name, make in bombs.WEATHER_PLACES.items():
        yield f"weather {name}", make, read_weather
    study = bombs.make_study(folder / "study")
    for name, change in bombs.STUDIES.items():
        yield f"study {name}", copying(study, change), read_study
    portfolio = bombs.make_portfolio(folder / "portfolio")
    for name, change in bombs.PORTFOLIOS.items():
        yield f"portfolio {name}", copying(portfolio, change), Portfolio.load


def writing(content):
    content = content if isinstance(content, bytes) else content.encode()
    return lambda path: path.write_bytes(content)


def writing_weather(text):
    return lambda path: path.with_suffix(".csv").write_text(text)


def read_weather(path):
    return load_weather(str(path.with_suffix(".csv")))


def copying(original, change):
    return lambda path: bombs.copied(original, path, change)


def read_study(path):
    study = Study.open(path)
    study.status()
    study.episodes()
    study.database.check()


def outcome(read, path):
    """What came of reading, with little memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    began = time.perf_counter()
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + ALLOWED, hard))
    try:
        read(path)
        found = ["", ""]
    except SdmbtlError as error:
        found = [type(error).__name__, str(error)]
    except Exception as error:  # noqa: BLE001 - what it is, is the question
        found = [f"not ours: {type(error).__name__}", str(error)]
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
    return [*found, time.perf_counter() - began]


def main():
    with tempfile.TemporaryDirectory() as folder:
        found = {}
        for number, (name, make, read) in enumerate(cases(Path(folder))):
            path = Path(folder) / f"bomb-{number}"
            make(path)
            found[name] = outcome(read, path)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
