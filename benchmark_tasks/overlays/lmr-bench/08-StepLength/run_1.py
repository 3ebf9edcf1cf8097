"""Calls `get_sentence`."""

import sys
from unittest.mock import MagicMock

# What the repository's helpers import for models and data sets.
sys.modules.update(dict.fromkeys(("openai", "torch", "torch.utils", "torch.utils.data"), MagicMock()))

from run_inference import get_sentence  # noqa: E402 - after the stand-ins


def run(case):
    """Return the agent's input."""
    return {"sentence": get_sentence(**case)}
