"""Coverage against total steps, by real training: what else one could do with the steps."""
