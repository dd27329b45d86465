"""How a guest learns: tasks, verifiers and rewards over the emulated web."""
