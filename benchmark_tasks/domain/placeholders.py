"""What the task kit's example says where people must say something of their own. No Django here."""

from __future__ import annotations

from typing import Final

KIT_PLACEHOLDERS: Final = {
    "system": "The name of your system",
    "backbone": "the model behind it, with its date or version",
}
"""By key of ``submission.json``. A bundle that still holds one of these is refused."""
