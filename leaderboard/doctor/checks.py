"""The checks of ``manage.py doctor``, in the order of its output."""

from __future__ import annotations

from typing import Final

from leaderboard.doctor import backups, machine, sandbox, services, site
from leaderboard.doctor.findings import Check

CHECKS: Final = (
    Check("database", services.database),
    Check("redis", services.redis),
    Check("storage", services.storage),
    Check("data folder", machine.data_folder),
    Check("disks", machine.disks),
    Check("memory", machine.memory),
    Check("backups", backups.findings),
    Check("keys", site.keys),
    Check("settings", site.site_settings),
    Check("second factors", site.second_factors),
    Check("site", site.site),
    Check("e-mail", services.mail),
    Check("sandbox", sandbox.findings),
)
