"""Compute the analysis of a suite: tables, charts, and the paper's regression."""
