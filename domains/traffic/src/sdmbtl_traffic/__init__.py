"""Traffic: eco-driving at a signalised crossing that SUMO simulates.

SUMO's library holds one simulation in a process, and a crash takes the process with it. So it
always runs in a separate process (`simulation_process.py`). One simulation has up to 16 crossings
side by side, which share nothing: an episode each.
"""
