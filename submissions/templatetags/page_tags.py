"""Template tags for times, code and form fields. Each returns escaped or safe text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from django import template
from django.contrib.humanize.templatetags.humanize import naturaltime
from django.utils import timezone
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe

from submissions.highlighting import highlighted

if TYPE_CHECKING:
    from datetime import datetime

    from django.forms import BoundField

register = template.Library()


@register.filter
def ago(moment: datetime | None) -> SafeString:
    """Return a relative time, with the exact time in its title."""
    if moment is None:
        return SafeString("\N{EN DASH}")
    exact = timezone.localtime(moment)
    relative = str(naturaltime(moment))
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        exact.isoformat(timespec="seconds"),
        f"{exact:%Y-%m-%d %H:%M:%S %Z}",
        "just now" if relative == "now" else relative,
    )


@register.filter
def without_version(changes: str) -> str:
    """Return a version's changes without the authors' own number at the beginning, which counts otherwise."""
    text = re.sub(r"\AVersion \d+: ", "", changes)
    return text[:1].upper() + text[1:]


@register.filter
def code(source: str, language: str) -> SafeString:
    """Return highlighted source; ``language`` is ``python``, ``diff``, or a file extension."""
    return mark_safe(highlighted(source, language))  # noqa: S308 - the formatter escapes the source


@register.filter
def backticks(text: str) -> SafeString:
    """Return escaped text with text in backticks as code. Other markup is not parsed: instructions have formulas."""
    return mark_safe(re.sub(r"`([^`\n]+)`", r"<code>\1</code>", escape(text)))  # noqa: S308 - escaped before


_LABELS = {
    "Login": "User name or e-mail",
    "Username": "User name",
    "Email": "E-mail",
    "Remember Me": "Stay signed in",
    "Authenticator code": "Code",
    "Code": "Code",
}


@register.filter
def our_label(label: str) -> str:
    """Return a field's label; labels of allauth's forms are replaced by this site's."""
    return _LABELS.get(label, label)


@register.filter
def control(field: BoundField) -> SafeString:
    """Return a field's control, without the placeholders of allauth's forms, which repeat its own labels."""
    repeats = str(field.label) in _LABELS and "placeholder" in field.field.widget.attrs
    return field.as_widget(attrs={"placeholder": ""} if repeats else None)


@register.simple_tag
def code_from_line(source: str, language: str, first_line: int) -> SafeString:
    """Return highlighted source with line numbers from ``first_line``."""
    return mark_safe(highlighted(source, language, first_line=first_line))  # noqa: S308 - the formatter escapes


@register.simple_tag
def share_bar(percentage: float) -> SafeString:
    """Return a bar from 0 to 100. The page shows the number as text next to it."""
    return format_html(
        '<svg class="share-bar" viewBox="0 0 100 8" width="100" height="8" preserveAspectRatio="none" '
        'aria-hidden="true" focusable="false"><rect class="share-track" width="100" height="8"/>'
        '<rect class="share-fill" width="{}" height="8"/></svg>',
        f"{percentage:.1f}",
    )
