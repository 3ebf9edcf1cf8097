"""Measure rater agreement, and which judges can be trusted."""
