"""What this room does on news from the lower ones."""

from __future__ import annotations
