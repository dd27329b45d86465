"""How well an agent does: many attempts at many tasks, figures with their intervals, and a report to read."""
