"""``manage.py serve``: run the whole instance under one supervisor (``make run``)."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.management import BaseCommand, CommandError, call_command
from django.db import connection, connections

from benchmark_tasks.domain import garbage, metrics
from benchmark_tasks.enums import AuditState
from evaluator.auditing.auditing import note_obstacle, waiting
from evaluator.auditing.self_checks import note_unavailable
from evaluator.hosts import grants
from evaluator.hosts.rows import leave
from evaluator.sandbox.configuration import configured_sandbox
from evaluator.sandbox.interface import SandboxError
from evaluator.testing.infrastructure_errors import infrastructure_error_of
from leaderboard.management.errors import require_whole_database
from leaderboard.settings.environment import PROJECT_ROOT, unknown_names
from leaderboard.supervision import SupervisionError
from leaderboard.supervision.data_folder import make_private, only_instance
from leaderboard.supervision.programs import (
    check_free,
    check_keys,
    check_proxy,
    host_address,
    instance_programs,
    listening_address,
    local_host,
)
from leaderboard.supervision.supervisor import Supervisor

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from pathlib import Path

    from leaderboard.settings.environment import Environment


class Command(BaseCommand):
    """Start web server, workers, reconciler and Redis; stop all of them on Ctrl-C."""

    help = "Start the whole instance, and stop it on Ctrl-C."
    # They load every page's code, which only the web server needs; make setup and make lint run them.
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--setup", action="store_true", help="run manage.py setup first")
        parser.add_argument(
            "--workers-only", action="store_true", help="work for a site that another host serves (make host)"
        )
        parser.add_argument(
            "--console", action="store_true", help="write the programs' logs to standard output, as containers want"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        environment: Environment = settings.ENVIRONMENT
        self._log_folder = None if options["console"] else environment.data_dir / "logs"
        # Hosts that work for a site may share a data folder: they are containers of one machine then.
        host = environment.host_name if options["workers_only"] else ""
        try:
            with only_instance(environment.data_dir, host=host):
                if not host:
                    metrics.forget()
                if options["workers_only"]:
                    self._work_for_another_host(environment)
                    return
                check_keys(environment)
                check_proxy([host_address(environment.bind)], environment)
                check_free(environment.bind, environment.port)
                if options["setup"]:
                    # The board is served at once; answers count after the workers have audited their tasks.
                    call_command("setup", no_audit=True)
                else:
                    for warning in filter(None, (*unknown_names(), make_private(environment.data_dir))):
                        self.stderr.write(warning)
                    require_whole_database()
                self._supervise(environment, explained=options["setup"])
        except SupervisionError as error:
            raise CommandError(str(error)) from None

    def _work_for_another_host(self, environment: Environment) -> None:
        """Start workers only. Raises :class:`SupervisionError` if this host cannot share the work of another."""
        servers = connection.vendor == "postgresql" and environment.redis_url
        if not servers:
            msg = (
                "A host that works for another host's site needs its DATABASE_URL (PostgreSQL), REDIS_URL and "
                "STORAGE_URL (docs/instance.md, “More hosts”)."
            )
            raise SupervisionError(msg)
        check_keys(environment)
        if problem := grants.problem():
            raise SupervisionError(problem)
        if problem := garbage.why_not_the_sites():
            raise SupervisionError(problem)
        for warning in filter(None, (*unknown_names(), make_private(environment.data_dir))):
            self.stderr.write(warning)
        self._supervise(environment, explained=False, site=False)

    def _supervise(self, environment: Environment, *, explained: bool, site: bool = True) -> None:
        """Run the supervisor. ``explained``: the set-up has already printed why nothing can be evaluated, if so."""
        problem = _sandbox_problem(site=site) if environment.evaluates else ""
        # Without a sandbox, workers would exit and restart in an endless loop.
        workers = environment.workers if environment.evaluates and not problem else 0
        supervisor = Supervisor(
            instance_programs(environment, project_root=PROJECT_ROOT, workers=workers, site=site),
            log_folder=self._log_folder,
            report=self._report,
            log_days=environment.keep_logs_days,
        )
        # Child processes open their own connections; one left open here would hold a lock for nothing.
        connections.close_all()
        greeting = _greeting(environment, workers=workers, site=site, log_folder=self._log_folder)
        if problem:
            reason = " (the reason is above)." if explained else f":\n  {problem}"
            greeting += (
                f"\n\nNOTHING IS EVALUATED, since no sandbox works here{reason}\nFix that, stop this and start again."
            )
        supervisor.run(on_ready=lambda: self._report(greeting))
        if environment.evaluates and not problem:
            # The workers have ended, so no worker owns a remaining box.
            configured_sandbox().reap(keep=lambda _label: False)
        leave()
        self._report("Stopped.")

    def _report(self, line: str) -> None:
        # The terminal may be gone (SIGHUP); the programs must still be stopped in order.
        with suppress(OSError):
            self.stdout.write(line)
            self.stdout.flush()


def _sandbox_problem(*, site: bool) -> str:
    """Return why nothing can be evaluated here, or "" if a sandbox works; the site's host stores the reason."""
    listed = waiting() if site else []
    unaudited = [revision for revision, _ in listed if revision.audit_state == AuditState.UNAUDITED]
    try:
        configured_sandbox()
    except SandboxError as error:
        if site:
            note_unavailable(error)
        note_obstacle(f"nothing can be evaluated on this site, {infrastructure_error_of(error).public}", unaudited)
        return str(error)
    note_obstacle("", unaudited)
    return ""


def _greeting(environment: Environment, *, workers: int, site: bool, log_folder: Path | None) -> str:
    logs = f"Logs are in {log_folder}" if log_folder else ""
    if not site:
        pools = ", ".join(environment.pools)
        line = f"\nHost {environment.host_name} works for {pools}. Workers that evaluate: {workers}. Ctrl-C stops it."
        return f"{line}\n{logs}." if logs else line
    address = listening_address(local_host(environment.bind), environment.port)
    return (
        f"\nLMR-Board answers at http://{address}/, workers: {workers}. Ctrl-C stops it.\n"
        f"{logs and f'{logs}; '}make password sets a maintainer's password."
    )
