"""The agent loop and its tools; knows models, not HTTP."""
