"""Make the network of crossings that ships with the package, with SUMO's netconvert.

    pip install eclipse-sumo==1.28.0        # has netconvert; not needed to use the network
    python domains/traffic/make_network.py [--netconvert PATH]

Sixteen four-way crossings, one lane each way, straight on only. They share nothing, so that each
can be an episode in one simulation. The links of each light are in the order north,
east, south, west.
"""

from __future__ import annotations

import argparse
import gzip
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from sdmbtl_traffic.crossing import CROSSINGS, ENTRIES
from sdmbtl_traffic.simulation import NETWORK

#: Metres from a crossing to where its roads end, and between two crossings.
ARM, APART = 400.0, 1000.0
DIRECTIONS = {"west": (-1, 0), "east": (1, 0), "north": (0, 1), "south": (0, -1)}
OPPOSITE = {"west": "east", "east": "west", "north": "south", "south": "north"}


def write_nodes() -> Iterator[str]:
    """The ends of all roads."""
    for number in range(CROSSINGS):
        x, y = APART * (number % 4), APART * (number // 4)
        yield f'<node id="{number}" x="{x}" y="{y}" type="traffic_light"/>'
        for entry in ENTRIES:
            dx, dy = (ARM * step for step in DIRECTIONS[entry])
            yield f'<node id="{number}{entry}" x="{x + dx}" y="{y + dy}"/>'


def write_edges() -> Iterator[str]:
    """The roads to and from each crossing."""
    for number in range(CROSSINGS):
        for entry in ENTRIES:
            road = f"{number}{entry}"
            yield f'<edge id="{road}_in" from="{road}" to="{number}" numLanes="1" speed="14"/>'
            yield f'<edge id="{road}_out" from="{number}" to="{road}" numLanes="1" speed="14"/>'


def write_connections() -> Iterator[str]:
    """Straight on."""
    for number in range(CROSSINGS):
        for entry in ENTRIES:
            there = f"{number}{OPPOSITE[entry]}_out"
            yield f'<connection from="{number}{entry}_in" to="{there}"/>'


def make_network(netconvert: str) -> bytes:
    """The network, without the comment that says when and where it was made."""
    parts = {"node": write_nodes(), "edge": write_edges(), "connection": write_connections()}
    with tempfile.TemporaryDirectory() as folder:
        command = [netconvert, "--no-turnarounds", "true", "-o", f"{folder}/network.net.xml"]
        for kind, lines in parts.items():
            path = Path(folder) / f"{kind}.xml"
            path.write_text(f"<{kind}s>\n" + "\n".join(lines) + f"\n</{kind}s>\n")
            command += [f"--{kind}-files", str(path)]
        subprocess.run(command, check=True)  # noqa: S603 - SUMO's own program
        text = (Path(folder) / "network.net.xml").read_text()
    return re.sub(r"<!--.*?-->\s*", "", text, flags=re.DOTALL).encode()


def main() -> None:
    """Make the network and put it into the package."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--netconvert", default="netconvert", help="where the program is")
    network = make_network(parser.parse_args().netconvert)
    NETWORK.write_bytes(gzip.compress(network, mtime=0))
    print(f"{NETWORK.name}: {len(network):,} bytes, {NETWORK.stat().st_size:,} compressed")


if __name__ == "__main__":
    main()
