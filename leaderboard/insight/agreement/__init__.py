"""Measure how far raters agree, and which judges can be trusted."""
