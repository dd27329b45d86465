"""A web of few words behind a real server."""

from tests.train.toy import toy

__all__ = ["toy"]
