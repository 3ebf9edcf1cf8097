"""Calls `contrast`, which stands in the unit test's own file."""

import logging
from pathlib import Path
from unittest import mock

# That file opens a log beside itself, where nothing can be written in a box.
with mock.patch.object(Path, "mkdir"), mock.patch.object(logging, "basicConfig"):
    from unit_test import unit_test_1


def run(case):
    """Return the contrasts."""
    return {"scores": unit_test_1.contrast(case["expert"], case["amateur"], **case["options"])}
