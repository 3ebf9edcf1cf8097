"""Read a stored trajectory in a limited child: it came from a stranger."""

from __future__ import annotations

import base64
import json
from typing import Any, Final

from submissions.limited_child import ChildError, ChildLimits, answer, ask
from submissions.trajectories.reading import read_trajectory
from submissions.trajectories.steps import Trajectory, TrajectoryError

LIMITS: Final = ChildLimits(cpu_seconds=20, wall_seconds=60.0)


def read_limited(data: bytes, *, instance_id: str, limits: ChildLimits = LIMITS) -> Trajectory | None:
    """The run of this paper in ``data``, or its only one; None where there is none.

    Raises TrajectoryError for what cannot be read, or not within the limits.
    """
    given = {"data": base64.b64encode(data).decode(), "instance_id": instance_id}
    try:
        found = ask(__name__, json.dumps(given).encode(), limits)
    except ChildError:
        raise TrajectoryError("Reading the trajectory took too much time or memory.") from None
    if "wrong" in found:
        raise TrajectoryError(found["wrong"])
    return None if found["run"] is None else Trajectory.from_data(found["run"])


def serve(limits_text: str) -> None:
    """The child."""
    answer(limits_text, _read)


def _read(data: bytes) -> dict[str, Any]:
    given = json.loads(data)
    try:
        run = read_trajectory(base64.b64decode(given["data"])).run_of(given["instance_id"])
    except TrajectoryError as error:
        return {"wrong": str(error)}
    return {"run": None if run is None else run.as_data()}
