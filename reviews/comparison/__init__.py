"""Two texts beside each other, line by line and word by word. No Django here."""

from __future__ import annotations

from reviews.comparison.rows import Line, Row, compare, lines_of, opcodes

__all__ = ["Line", "Row", "compare", "lines_of", "opcodes"]
