"""The scoreboard of the default selector: its goals, and whether it reaches them."""
