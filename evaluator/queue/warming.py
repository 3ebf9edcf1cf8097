"""What a worker finds out before its first job, because each job runs in a fork that forgets what it finds out."""

from __future__ import annotations

import structlog

from evaluator.queue.claims import job_label
from evaluator.sandbox.configuration import configured_sandbox
from evaluator.sandbox.task_environments import wanted_environments
from evaluator.sandbox.types import SandboxError
from evaluator.testing.golden import box_family

log = structlog.get_logger(__name__)


def warm_up() -> None:
    """Ask one box of each environment for its processor family, which otherwise costs every job a box.

    An environment that does not work is only logged: the jobs that need it fail with the reason, the others work.
    Raises :class:`SandboxUnavailableError` when there is no sandbox.
    """
    sandbox = configured_sandbox()
    for environment in wanted_environments():
        try:
            box_family(sandbox=sandbox, environment=environment, label=job_label(), cancelled=lambda: False)
        except SandboxError as error:
            log.warning("environment_unusable", environment=environment, error=str(error))
