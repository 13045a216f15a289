"""What needs packages beyond the core, one extra each: `pip install 'rig-agents[NAME]'`. Nothing below imports it."""
