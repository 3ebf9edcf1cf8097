"""Tests of ``submissions.endpoints``."""
