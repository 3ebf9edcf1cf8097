"""Derive findings from boards: rater agreement, analysis, comparisons, judges."""
