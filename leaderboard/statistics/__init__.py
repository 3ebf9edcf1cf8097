"""Compute intervals, coefficients, paired tests, bootstraps and regressions. No Django; imports no other package."""
