"""Two texts beside each other, line by line and word by word. No Django here."""

from __future__ import annotations

from reviews.comparison.matching import Budget, opcodes
from reviews.comparison.rows import Line, Row, compare, lines_of

__all__ = ["Budget", "Line", "Row", "compare", "lines_of", "opcodes"]
