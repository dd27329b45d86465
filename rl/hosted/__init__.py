"""Hosted web search and web fetch of OpenAI and Anthropic, in front of a local model and the emulated web."""
