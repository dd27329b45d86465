"""Reinforcement learning for search agents: tasks, episodes, rewards, evaluation and training over the emulated web."""
