"""Wrong arguments on the command line of commands that have exit codes of their own."""

from __future__ import annotations

from django.core.management.base import BaseCommand, CommandError

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
