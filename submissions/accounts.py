"""Configure allauth for this site: sign-up, login attempts, e-mails, sign-in by other sites, and second factors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialApp
from allauth.socialaccount.providers import registry
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404
from django.shortcuts import redirect

from submissions.confirming import SIGN_IN_AGAIN, needs_new_sign_in
from submissions.domain import second_factor
from submissions.domain.rate_limits import client_network
from submissions.endpoints.sealing import SealError

if TYPE_CHECKING:
    from allauth.mfa.models import Authenticator
    from allauth.socialaccount.models import SocialLogin
    from allauth.socialaccount.providers.base.provider import Provider
    from django.contrib.auth.base_user import AbstractBaseUser
    from django.http import HttpRequest


class AccountAdapter(DefaultAccountAdapter):
    """Close sign-up, limit logins per account and network, and send e-mails where a server is configured."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:  # noqa: ARG002 - allauth's signature
        """Return whether new visitors may create accounts (``SIGN_UP_OPEN``)."""
        return bool(settings.ENVIRONMENT.sign_up_open)

    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:
        """Count wrong passwords for an account separately for each client network.

        Otherwise anyone who knows a user name could lock its owner out by sending wrong passwords.
        """
        return f"{super()._get_login_attempts_cache_key(request, **credentials)}:{client_network(request)}"

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Send an e-mail if a mail server is configured; without one, no page promises an e-mail."""
        if settings.EMAIL_CONFIGURED:
            super().send_mail(template_prefix, email, context)


_KEPT: Final = {"github": ("login", "html_url"), "orcid": ("orcid-identifier",)}
"""The parts of a provider's profile that are stored: what names the connected account."""


class ProviderAdapter(DefaultSocialAccountAdapter):
    """Offer the providers that have keys, and store little of what they send."""

    error_messages = DefaultSocialAccountAdapter.error_messages | {
        "email_taken": "An account with this e-mail address exists. Sign in to it, then connect %s under Connections.",
        "no_password": "This connection is the only way to sign in to this account. First set a password.",
        "no_verified_email": "This account has no verified e-mail address to reset its password. First verify one.",
    }

    def get_provider(self, request: HttpRequest, provider: str, client_id: str | None = None) -> Provider:
        """Return a provider. Raises ``Http404`` for one without keys, except to disconnect an account from it."""
        if provider in settings.SOCIALACCOUNT_PROVIDERS:
            found: Provider = super().get_provider(request, provider, client_id=client_id)
            return found
        known = registry.get_class(provider)  # type: ignore[no-untyped-call]
        if known is None or request.resolver_match.url_name != "socialaccount_connections":  # type: ignore[union-attr]
            raise Http404("This site does not offer to sign in by this provider.")
        unused: Provider = known(request, app=SocialApp(provider=provider))
        return unused

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Connect no account to a session that has to confirm who it is by a new sign-in."""
        if sociallogin.state.get("process") == "connect" and needs_new_sign_in(request):
            messages.warning(request, SIGN_IN_AGAIN)
            raise ImmediateHttpResponse(redirect("account_logout"))

    def populate_user(self, request: HttpRequest, sociallogin: SocialLogin, data: dict[str, Any]) -> AbstractBaseUser:
        """Suggest name and address for a new account; keep the account's name and the primary verified address.

        The provider's other addresses are not needed here, and an unverified one proves nothing: the person can still
        type it.
        """
        account = sociallogin.account
        kept = _KEPT[account.provider]
        account.extra_data = {name: value for name, value in account.extra_data.items() if name in kept}
        verified = [address for address in sociallogin.email_addresses if address.verified]
        verified.sort(key=lambda address: not address.primary)
        sociallogin.email_addresses = verified[:1]
        user: AbstractBaseUser = super().populate_user(request, sociallogin, data)
        return user


class SecondFactorAdapter(DefaultMFAAdapter):
    """Seal secrets at rest, and use the site's words."""

    error_messages = DefaultMFAAdapter.error_messages | {
        "incorrect_code": "This code is wrong or has been used. Type the one that your app shows now.",
        "cannot_generate_recovery_codes": "Recovery codes need a second factor. First add an app or a security key.",
    }

    def get_totp_label(self, user: AbstractBaseUser) -> str:
        """Name the account in the app by its user name: an address may change."""
        return user.get_username()

    def generate_authenticator_name(self, user: AbstractBaseUser, type: Authenticator.Type) -> str:  # noqa: A002, ARG002 - allauth's signature
        """Suggest a name for a security key."""
        return "Security key"

    def encrypt(self, text: str) -> str:
        """Seal a secret."""
        return second_factor.seal(text)

    def decrypt(self, encrypted_text: str) -> str:
        """Open a secret. Raises ``ValidationError``, which the form shows, if the instance has lost its key."""
        try:
            return second_factor.unseal(encrypted_text)
        except SealError as error:
            msg = "This site can no longer read this account's second factor. Ask its operator to remove it."
            raise ValidationError(msg) from error
