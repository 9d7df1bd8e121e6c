"""Transfer matrices, benchmarks, and the tables and figures of the paper."""
