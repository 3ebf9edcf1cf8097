"""Placeholder values in the task kit's example, which every submitter must replace. No Django here."""

from __future__ import annotations

from typing import Final

KIT_PLACEHOLDERS: Final = {
    "system": "The name of your system",
    "backbone": "the model behind it, with its date or version",
}
"""Key of ``submission.json`` -> placeholder. A bundle that still contains one is refused."""
