"""Repeat an answer's test run from its receipt, on any machine."""
