"""``manage.py worker_grants``."""

from __future__ import annotations

import os

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from evaluator.hosts import grants
from tests.evaluator.roles import acting_as, execute, quoted

pytestmark = pytest.mark.django_db
on_postgresql = [
    pytest.mark.postgres,
    pytest.mark.skipif("DATABASE_URL" not in os.environ, reason="needs DATABASE_URL of a PostgreSQL server"),
]


@pytest.mark.skipif("DATABASE_URL" in os.environ, reason="about SQLite")
def test_sqlite_has_no_roles() -> None:
    with pytest.raises(CommandError, match="DATABASE_URL names SQLite"):
        call_command("worker_grants", "tests")


class TestOnPostgreSQL:
    pytestmark = on_postgresql

    def test_it_takes_all_other_rights_and_may_be_repeated(
        self, bare_role: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        execute(f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {quoted(bare_role)}")
        execute(f"GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO {quoted(bare_role)}")
        execute(f"GRANT ALL ON SCHEMA public TO {quoted(bare_role)}")
        for _ in range(2):
            call_command("worker_grants", bare_role)
            assert grants.held(bare_role) == grants.needed()
            done = f"{bare_role} may do what a host with POOLS=tests needs. Repeat this after each upgrade.\n"
            assert capsys.readouterr() == (done, "")
        sequences = (
            "SELECT count(*) FROM pg_class WHERE relkind = 'S' AND has_sequence_privilege(current_user, oid, 'USAGE')"
        )
        with acting_as(bare_role):
            assert execute(sequences) == [(0,)]

    def test_the_statements_can_be_executed_elsewhere(self, bare_role: str, capsys: pytest.CaptureFixture[str]) -> None:
        call_command("worker_grants", bare_role, sql=True)
        first, *statements, last = capsys.readouterr().out.splitlines()
        assert (first, last, grants.held(bare_role)) == ("BEGIN;", "COMMIT;", set())
        for statement in statements:
            execute(statement)
        assert grants.held(bare_role) == grants.needed()

    def test_more_rights_by_another_way_are_named(self, bare_role: str, capsys: pytest.CaptureFixture[str]) -> None:
        execute("GRANT SELECT (key) ON benchmark_tasks_seedepoch TO PUBLIC")  # needed in any case
        execute("GRANT SELECT (password), UPDATE (email) ON submissions_user TO PUBLIC")
        call_command("worker_grants", bare_role)
        assert capsys.readouterr().err == (
            f"{bare_role} may do more than running tests needs: SELECT submissions_user.password, UPDATE "
            "submissions_user.email. Give hosts with POOLS=tests a role that owns nothing and belongs to no other "
            "(docs/operating.md).\n"
        )

    def test_a_role_that_does_not_exist(self) -> None:
        with pytest.raises(CommandError) as error:
            call_command("worker_grants", 'no "such" role')
        assert str(error.value) == (
            'Role "no "such" role" does not exist. Create the role first (createuser --pwprompt no "such" role), and '
            "run this with the role that owns the tables."
        )

    def test_the_sites_own_role_keeps_its_rights(self) -> None:
        own = connection.settings_dict["USER"]
        with pytest.raises(CommandError, match="is the role of this host's own DATABASE_URL"):
            call_command("worker_grants", own)

    def test_only_the_owner_of_the_tables_gives_rights(self, bare_role: str) -> None:
        execute("CREATE ROLE somebody_else")
        with (
            acting_as("somebody_else"),
            pytest.raises(CommandError, match=r"^Permission denied for table .* that owns"),
        ):
            call_command("worker_grants", bare_role)
        assert grants.held(bare_role) == set()
