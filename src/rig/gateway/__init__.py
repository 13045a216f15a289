"""Many endpoints behind one model: pool, router, tiers."""
