"""Calls `get_sentence`."""

from probe_tools import absent

# What the repository's helpers import for models and data sets.
absent("openai", "torch")

from run_inference import get_sentence  # noqa: E402 - after the stand-ins


def run(case):
    """Return the agent's input."""
    return {"sentence": get_sentence(**case)}
