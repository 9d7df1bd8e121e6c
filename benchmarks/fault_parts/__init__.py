"""What benchmarks/faults.py starts, stops and kills."""
