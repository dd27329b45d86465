"""What the web is here: the words, the errors, the config, URL law, query language, and the `World` that answers."""
