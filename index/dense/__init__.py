"""Dense retrieval: passage vectors made by `webemu embed`, searched beside the words. Needs the extra `dense`."""
