"""The entry point of web servers."""

from __future__ import annotations

import os

from django.core.wsgi import get_wsgi_application
from django.template import engines
from django.urls import reverse

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "leaderboard.settings")
application = get_wsgi_application()
# The code of pages and templates is loaded here once, before the web server forks, and not in each process.
reverse("board_default")
engines.all()
