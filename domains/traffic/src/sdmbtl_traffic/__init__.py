"""A signalised crossing that SUMO simulates: demand, signal, what drivers see, and the process.

SUMO's library has one simulation in a process, and what crashes there takes the process with it.
So it always runs in a process of its own (`simulation_process.py`), which a `SimulationClient`
starts, feeds with actions and watches. One simulation has many crossings side by side, which
share nothing: an episode each.

Needs libsumo: `pip install 'sdmbtl[traffic]'`.
"""
