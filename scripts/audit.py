"""List known vulnerabilities of the locked packages, and the packages that the database does not know."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

LOCKS = ("base", "dev", "uv", "box-numpy")


def main() -> int:
    """Run pip-audit on every lock; return 1 if a package has a known vulnerability, or none could be looked up."""
    folder = Path(__file__).resolve().parents[1] / "requirements"
    locks = [argument for name in LOCKS for argument in ("-r", str(folder / f"{name}.txt"))]
    answer = subprocess.run(
        [sys.executable, "-m", "pip_audit", "--require-hashes", "--disable-pip", "--format", "json", *locks],
        capture_output=True,
        text=True,
        check=False,
    )
    if not answer.stdout.strip():
        sys.stderr.write(f"{answer.stderr.strip()}\nThe vulnerability database could not be reached.\n")
        return 1
    packages = {package["name"]: package for package in json.loads(answer.stdout)["dependencies"]}
    skipped = {name: package["skip_reason"] for name, package in packages.items() if "skip_reason" in package}
    vulnerable = {name: package for name, package in packages.items() if package.get("vulns")}
    for name, package in sorted(vulnerable.items()):
        for finding in package["vulns"]:
            fixed = ", ".join(finding["fix_versions"]) or "no version yet"
            sys.stdout.write(f"VULNERABLE  {name} {package['version']}: {finding['id']}, fixed in {fixed}\n")
    if skipped:
        # Mirrors of the package index often lack the addresses that pip-audit queries.
        sys.stdout.write(
            f"NOT LOOKED UP, as the vulnerability database does not know them: {', '.join(sorted(skipped))}\n"
        )
    looked_up = len(packages) - len(skipped)
    sys.stdout.write(f"{looked_up} packages looked up, {len(skipped)} not found, {len(vulnerable)} vulnerable.\n")
    return 1 if vulnerable or not looked_up else 0


if __name__ == "__main__":
    sys.exit(main())
