"""Compare organisations' names and e-mail domains."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

import idna

NO_AFFILIATION: Final = "none"
"""What annotators enter who belong to no organisation."""
_MARKS: Final = re.compile("[\u0300-\u036f]")
"""Accents of Latin, Greek and Cyrillic characters. Marks of other scripts distinguish words."""
# Characters that look alike in common fonts (after Unicode's UTS 39), in lower case. I, l and 1 become one.
_ALIKE: Final = str.maketrans(
    # Cyrillic
    "\u0430\u0432\u0435\u043a\u043c\u043d\u043e\u0440\u0441\u0442\u0443\u0445\u0455\u0456\u0458\u04bb\u0501\u051b\u051d"
    # Greek
    "\u03b1\u03b2\u03b5\u03b9\u03ba\u03bd\u03bf\u03c1\u03c4\u03c5\u03c7"
    # Latin
    "\u0131\u0251\u0261l10",
    "abekmhopctyxsijhdqw" + "abeiknoptux" + "iagiio",
)
_WILDCARD: Final = "*."


def folded(organisation: str) -> str:
    """Normalise an organisation's name for comparison; empty for none.

    Case, spacing, punctuation, accents, compatibility forms (full width) and characters that look alike do not count.
    """
    text = unicodedata.normalize("NFKC", organisation).casefold()
    text = _MARKS.sub("", unicodedata.normalize("NFKD", text)).casefold().translate(_ALIKE)
    name = "".join(character for character in text if unicodedata.category(character)[0] in "LMN")
    name = unicodedata.normalize("NFC", name)
    return "" if name == NO_AFFILIATION else name


def ascii_domain(domain: str) -> str:
    """Return a domain in ASCII and lower case; empty if it is none, or has only one label."""
    try:
        encoded = idna.encode(domain.strip().lower().removesuffix("."), strict=True, std3_rules=True).decode("ascii")
    except (idna.IDNAError, UnicodeError):
        return ""
    return encoded if "." in encoded else ""


def listed_domain(text: str) -> str:
    """Return an entry for a list of domains, ``example.org`` or ``*.example.org``, in ASCII; empty if it is neither."""
    text = text.strip()
    prefix = _WILDCARD if text.startswith(_WILDCARD) else ""
    domain = ascii_domain(text.removeprefix(prefix))
    return f"{prefix}{domain}" if domain else ""


def matching_domain(email: str, domains: list[str]) -> str:
    """Return the entry of ``domains`` to which an address belongs; empty if it belongs to none.

    An entry is equal to the address's domain. Only ``*.example.org`` includes subdomains, and not example.org.
    """
    domain = ascii_domain(email.rpartition("@")[2])
    if not domain:
        return ""
    if domain in domains:
        return domain
    return next((each for each in domains if each.startswith(_WILDCARD) and domain.endswith(each[1:])), "")
