"""What lab/experiments/faults.py starts, stops and kills."""
