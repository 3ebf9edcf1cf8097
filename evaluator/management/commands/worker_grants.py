"""``manage.py worker_grants ROLE``: give a database role the rights of a host that only runs tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError
from django.db import connection
from django.db.utils import ProgrammingError

from evaluator.hosts import grants

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Command(BaseCommand):
    """Grant what running tests needs, and nothing else. May be repeated, also while hosts use the role."""

    help = "Give a PostgreSQL role the rights of a host with POOLS=tests, and take all others from it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the role, and whether to change anything."""
        parser.add_argument("role", help="an existing role, which owns nothing (createuser --pwprompt ROLE)")
        parser.add_argument("--sql", action="store_true", help="print the statements, and change nothing")

    def handle(self, *args: Any, role: str, sql: bool, **options: Any) -> None:  # noqa: ARG002 - Django's signature
        """Grant; fails if the role then lacks a right, and warns if it has others."""
        if connection.vendor != "postgresql":
            msg = "Roles are PostgreSQL's: DATABASE_URL names SQLite, which one host uses."
            raise CommandError(msg)
        if sql:
            self.stdout.write("\n".join(["BEGIN;", *(f"{each};" for each in grants.statements(role)), "COMMIT;"]))
            return
        if role == grants.current_role():
            msg = (
                f"{role} is the role of this host's own DATABASE_URL, and would lose its rights. Name that of hosts "
                "with POOLS=tests, and run this with the role that owns the tables."
            )
            raise CommandError(msg)
        try:
            grants.apply(role)
            held, needed = grants.held(role), grants.needed()
        except ProgrammingError as error:
            what = str(error).splitlines()[0]
            msg = (
                f"{what[0].upper()}{what[1:]}. Create the role first (createuser --pwprompt {role}), "
                "and run this with the role that owns the tables."
            )
            raise CommandError(msg) from None
        if lacking := needed - held:
            msg = f"{role} still lacks {grants.listed(lacking)}: run this with the role that owns the tables."
            raise CommandError(msg)
        if more := held - needed:
            self.stderr.write(f"{role} may do more than running tests needs: {grants.listed(more)}. {grants.REDUCE}")
        self.stdout.write(f"{role} may do what a host with POOLS=tests needs. Repeat this after each upgrade.")
