"""What an endpoint really does: the probes, what they mean, and what to change."""
