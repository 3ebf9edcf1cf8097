"""Releases: what an upgrade to this code does to an instance, and what rolling it back does."""
