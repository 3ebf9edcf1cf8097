"""Freeze a board, and report what changed since."""
