"""Records what a command does on the live web, so that the same run can be replayed sealed. Nothing imports it."""
