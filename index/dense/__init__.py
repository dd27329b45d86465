"""Vectors of passages: made by `webemu embed`, searched beside the words. Needs the extra `dense`."""
