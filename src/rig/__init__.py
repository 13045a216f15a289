"""rig: agent loops against self-hosted, OpenAI-compatible models, on asyncio and trio."""
