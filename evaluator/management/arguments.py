"""What several commands do with their arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.core.management.base import BaseCommand, CommandError

from evaluator.judging.configs import HOW_TO_CONFIGURE, active_configs

if TYPE_CHECKING:
    from evaluator.models import JudgeConfig

EXIT_INVALID = 1


class OneForWrongArguments(BaseCommand):
    """A command that ends with 1 for wrong arguments. argparse would take 2, which here means held."""

    def run_from_argv(self, argv: list[str]) -> None:
        """As Django's, but for the exit code of what argparse refuses."""
        parser = self.create_parser(argv[0], argv[1])
        try:
            # Called before Django's own, a parser raises instead of ending the process.
            parser.parse_args(argv[2:])
        except CommandError as error:
            self.stderr.write(f"{parser.format_usage()}{error}")
            raise SystemExit(EXIT_INVALID) from None
        super().run_from_argv(argv)


def judges(slug: str | None) -> list[JudgeConfig]:
    """The active judges, or the one called ``slug``. Raises ``CommandError`` when there is none."""
    configs = list(active_configs())
    if not configs:
        raise CommandError(HOW_TO_CONFIGURE)
    found = [config for config in configs if slug in (None, config.slug)]
    if not found:
        known = ", ".join(config.slug for config in configs)
        raise CommandError(f"There is no active judge {slug!r}. Active: {known}.")
    return found
