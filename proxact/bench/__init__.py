"""``proxact bench``: what an activation costs, as ratios to ReLU in the same process."""
