"""An index in partitions, each on its own machine: building them, serving one, and querying all of them as one."""
