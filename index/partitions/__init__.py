"""An index in parts, each on a machine of its own: building them, holding one, and asking all of them as one."""
