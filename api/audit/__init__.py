"""`webemu audit-leak`: asks a server everything that it answers, and looks for what it must not show."""
