"""Configure Django from :mod:`leaderboard.settings.environment`."""

from __future__ import annotations

import os
import sys
from urllib.parse import parse_qs, unquote, urlsplit

import dj_database_url

from benchmark_tasks.domain.metrics import FOLDER_VARIABLE
from leaderboard.settings.environment import PROJECT_ROOT, ConfigurationError, load, secret_key
from leaderboard.settings.logs import logging_settings, process_name
from leaderboard.settings.releases import version
from leaderboard.settings.sign_in import sign_in_origins, sign_in_providers

# Every process of an instance imports this module before it writes anything, so its files are private to its user.
os.umask(0o077)

try:
    ENVIRONMENT = load()
    SECRET_KEY = secret_key(ENVIRONMENT)
except ConfigurationError as _error:
    # Every program that starts Django (manage.py, gunicorn, a script) exits here with the errors and no traceback.
    sys.stderr.write(f"{_error}\n")
    sys.exit(2)
DEBUG = ENVIRONMENT.debug
DATA_DIR = ENVIRONMENT.data_dir
ALLOWED_HOSTS = ENVIRONMENT.allowed_hosts
# Where processes count events: a variable, since modules without Django count, too.
os.environ[FOLDER_VARIABLE] = str(DATA_DIR / "run" / "metrics")
CSRF_TRUSTED_ORIGINS = ENVIRONMENT.csrf_trusted_origins
SITE_NAME = "LMR-Board"
VERSION = version()

INSTALLED_APPS = [
    "leaderboard.apps.LeaderboardConfig",
    "reviews.apps.ReviewsConfig",
    "evaluator.apps.EvaluatorConfig",
    "submissions.apps.SubmissionsConfig",
    "benchmark_tasks.apps.BenchmarkTasksConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    # Both providers are installed everywhere; SOCIALACCOUNT_PROVIDERS has those with keys, and only these are offered.
    "allauth.socialaccount",
    "allauth.socialaccount.providers.github",
    "allauth.socialaccount.providers.orcid",
    "django_htmx",
    "django_rq",
    # Only for its Swagger UI files; the API itself needs no app.
    "ninja",
    "csp",
]

MIDDLEWARE = [
    "leaderboard.web.measuring.MeasuringMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "leaderboard.web.page_cache.TextGZipMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "leaderboard.web.second_factor.SecondFactorMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "django_structlog.middlewares.RequestMiddleware",
]

ROOT_URLCONF = "leaderboard.urls"
WSGI_APPLICATION = "leaderboard.wsgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTH_USER_MODEL = "submissions.User"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [PROJECT_ROOT / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "leaderboard.web.context.site",
            ],
        },
    },
]

_database = dj_database_url.parse(ENVIRONMENT.database_url)
if _database["ENGINE"].endswith("sqlite3"):
    # Measured: with these options, forty concurrent jobs and six web clients lose no transaction (docs/operating.md).
    _database["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-20000",
    }
else:
    _database["CONN_HEALTH_CHECKS"] = True
    # Without these, a program would wait for minutes on a connection whose other end is gone, and the server would keep
    # the row locks of a host that lost network or power for two hours. Compiling (jit) takes seconds for queries that
    # take a tenth of one. Values in DATABASE_URL take precedence.
    _database["OPTIONS"] = {
        "connect_timeout": 10,
        "tcp_user_timeout": 30_000,
        "keepalives_idle": 15,
        "keepalives_interval": 5,
        "keepalives_count": 3,
        "options": "-c tcp_keepalives_idle=15 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3"
        " -c tcp_user_timeout=30000 -c jit=off",
        **_database.get("OPTIONS", {}),
    }
# Connections are kept per thread, not opened per request: opening one makes SQLite read its whole schema.
_database["CONN_MAX_AGE"] = 60
DATABASES = {"default": _database}

CACHES = {
    # Counters of sign-ins (allauth's), checks, uploads and API requests, each kept for minutes, and what blocks of
    # public rows give (leaderboard.board.blocks), kept for a month. Shared between processes, since per-process caches
    # would multiply the limits, and each new process would count every block. Only expired entries are ever deleted:
    # beyond MAX_ENTRIES, Django deletes those, then one in CULL_FREQUENCY of the rest, which is none here.
    "default": {
        "BACKEND": "django.core.cache.backends.db.DatabaseCache",
        "LOCATION": "shared_cache",
        "OPTIONS": {"MAX_ENTRIES": 10_000, "CULL_FREQUENCY": 2**31},
    },
    # Anonymous visitors' pages, in each web process. Keys contain the data's version, so no stale page is served.
    "pages": {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "LOCATION": "pages",
        "TIMEOUT": 3600,
        "OPTIONS": {"MAX_ENTRIES": 300},
    },
}

RQ_QUEUES = ENVIRONMENT.rq_queues
# Jobs are JSON and name only this project's functions, so that write access to Redis does not allow code execution.
# "auto": code that must wait for a commit uses transaction.on_commit itself, where an unreachable queue is no error.
RQ = {
    "JOB_CLASS": "evaluator.queue.rq_classes.KnownJob",
    "WORKER_CLASS": "evaluator.queue.rq_classes.ReleasingWorker",
    "COMMIT_MODE": "auto",
}
# django-rq's dashboard needs Django's admin, with a second sign-in, and inline scripts, which the CSP forbids. It would
# show queue entries, which are only hints; the maintainers' page shows the actual work from the database.
RQ_SHOW_ADMIN_LINK = False

AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend",
    "allauth.account.auth_backends.AuthenticationBackend",
]
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.Argon2PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "my_submissions"
ACCOUNT_LOGOUT_REDIRECT_URL = "board_default"
ACCOUNT_LOGIN_METHODS = {"username", "email"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "email*", "password1*", "password2*"]
ACCOUNT_ADAPTER = "submissions.accounts.AccountAdapter"
ACCOUNT_USERNAME_MIN_LENGTH = 3
# An account's limit applies per IP address (see AccountAdapter), so that strangers cannot lock its owner out.
ACCOUNT_RATE_LIMITS = {"login_failed": "10/m/ip,5/m/key"}

# Sign-in by other sites, each with the operator's keys. A person connects them: an equal e-mail address never does.
SOCIALACCOUNT_ADAPTER = "submissions.accounts.ProviderAdapter"
SOCIALACCOUNT_PROVIDERS = sign_in_providers(ENVIRONMENT)
SOCIALACCOUNT_EMAIL_AUTHENTICATION = False
# The form shows the name and the address before anything is stored.
SOCIALACCOUNT_AUTO_SIGNUP = False
SOCIALACCOUNT_STORE_TOKENS = False
SOCIALACCOUNT_REAUTHENTICATION_REQUIRED = True

MFA_ADAPTER = "submissions.accounts.SecondFactorAdapter"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_TOTP_ISSUER = SITE_NAME
# Clocks differ: the codes of the half minute before and after are accepted too.
MFA_TOTP_TOLERANCE = 1
MFA_FORMS = {
    "authenticate": "submissions.second_factor_forms.OnceAuthenticateForm",
    "reauthenticate": "submissions.second_factor_forms.OnceReauthenticateForm",
    "add_webauthn": "submissions.second_factor_forms.CheckedAddWebAuthnForm",
    "authenticate_webauthn": "submissions.second_factor_forms.CheckedAuthenticateWebAuthnForm",
    "reauthenticate_webauthn": "submissions.second_factor_forms.CheckedReauthenticateWebAuthnForm",
}
# Where e-mail is configured, no account can sign in before its first address is verified.
MFA_ALLOW_UNVERIFIED_EMAIL = True
# Browsers offer security keys on plain HTTP for localhost only.
MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = not ENVIRONMENT.https

# Without an e-mail server nothing may wait for an e-mail: addresses stay unverified and an operator resets passwords.
EMAIL_CONFIGURED = bool(ENVIRONMENT.email_url)
# Signing up with a taken address must not reveal that it is taken. With e-mail, its owner is notified instead; without,
# the address is accepted again.
ACCOUNT_PREVENT_ENUMERATION = True if EMAIL_CONFIGURED else "strict"
ACCOUNT_EMAIL_VERIFICATION = "mandatory" if EMAIL_CONFIGURED else "none"
_email = urlsplit(ENVIRONMENT.email_url)
EMAIL_BACKEND = f"django.core.mail.backends.{'smtp' if _email.scheme.startswith('smtp') else 'console'}.EmailBackend"
EMAIL_HOST = _email.hostname or "localhost"
EMAIL_PORT = _email.port or {"smtps": 465, "smtp+tls": 587}.get(_email.scheme, 25)
EMAIL_HOST_USER = unquote(_email.username or "")
EMAIL_HOST_PASSWORD = unquote(_email.password or "")
EMAIL_USE_TLS = _email.scheme == "smtp+tls"
EMAIL_USE_SSL = _email.scheme == "smtps"
EMAIL_TIMEOUT = int(parse_qs(_email.query).get("timeout", ["15"])[0])
DEFAULT_FROM_EMAIL = ENVIRONMENT.default_from_email

LANGUAGE_CODE = "en-gb"
TIME_ZONE = ENVIRONMENT.time_zone
USE_I18N = False
USE_TZ = True

STATIC_URL = "static/"
STATIC_ROOT = DATA_DIR / "static"
STATICFILES_DIRS = [PROJECT_ROOT / "static"]
STORAGES = {
    "default": {"BACKEND": "benchmark_tasks.domain.content_files.ContentStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG
        else "leaderboard.web.static_files.StaticFilesStorage"
    },
}
FILE_UPLOAD_HANDLERS = [
    "submissions.upload_limits.BoundedUploadHandler",
    "django.core.files.uploadhandler.MemoryFileUploadHandler",
    "django.core.files.uploadhandler.TemporaryFileUploadHandler",
]
DATA_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024
# A label has five fields for each of at most fifty findings.
DATA_UPLOAD_MAX_NUMBER_FIELDS = 300
DATA_UPLOAD_MAX_NUMBER_FILES = 1

SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_HTTPONLY = True
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
SECURE_SSL_REDIRECT = ENVIRONMENT.https
SESSION_COOKIE_SECURE = ENVIRONMENT.https
CSRF_COOKIE_SECURE = ENVIRONMENT.https
if ENVIRONMENT.https:
    SESSION_COOKIE_NAME = "__Host-session"
    CSRF_COOKIE_NAME = "__Host-csrf"
    SECURE_HSTS_SECONDS = ENVIRONMENT.hsts_seconds
    SECURE_HSTS_INCLUDE_SUBDOMAINS = True
    SECURE_HSTS_PRELOAD = True
    SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]
# Without this, all clients behind the proxy would share one limit on failed sign-ins.
ALLAUTH_TRUSTED_PROXY_COUNT = int(ENVIRONMENT.trust_proxy)
if ENVIRONMENT.trust_proxy:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "worker-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "font-src": ["'self'"],
        "connect-src": ["'self'"],
        # Chromium applies it to redirects as well, such as those to the sites by which people sign in.
        "form-action": ["'self'", *sign_in_origins(ENVIRONMENT)],
        "frame-ancestors": ["'none'"],
        "base-uri": ["'none'"],
        "object-src": ["'none'"],
    }
}

_report = None
if ENVIRONMENT.sentry_dsn:
    # Imported here, since its library takes a while.
    from leaderboard.settings.error_reports import report, start

    start(dsn=ENVIRONMENT.sentry_dsn, host=ENVIRONMENT.host_name)
    _report = report

LOGGING = logging_settings(
    level=ENVIRONMENT.log_level,
    form=ENVIRONMENT.log_format,
    host=ENVIRONMENT.host_name,
    process=process_name(sys.argv),
    report=_report,
)
