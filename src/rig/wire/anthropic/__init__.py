"""Anthropic's Messages API to and from `rig.model`, which llama.cpp, vLLM and others serve too. No I/O."""
