"""Below which numbers nothing is ranked, for pages too, which do without numpy."""

from __future__ import annotations

from typing import Final

LEAST_TASKS: Final = 6
"""Fewer tasks show no rank: even five wins to none are no evidence (exact McNemar .0625)."""
MOST_RANKED: Final = 500
"""Ranks compare each system with each other one; beyond the best so many they would take minutes."""
