"""Keys at rest: who opens them, and what does not."""

from __future__ import annotations

import base64

import pytest

from submissions.endpoints.sealing import SealError, seal, sealed_with_first, unseal

OLD, NEW = "o" * 40, "n" * 40
HERE = b"7 https://api.example.org:443"


def test_what_was_sealed_opens_again() -> None:
    sealed = seal("sk-secret", secrets=[OLD], context=HERE)
    assert unseal(sealed, secrets=[OLD], context=HERE) == "sk-secret"
    assert "sk-secret" not in sealed
    assert b"sk-secret" not in base64.urlsafe_b64decode(sealed.split(".")[2])


@pytest.mark.parametrize("elsewhere", [b"8 https://api.example.org:443", b"7 https://api.example.net:443", b""])
def test_another_endpoint_or_origin_does_not_open_it(elsewhere: bytes) -> None:
    sealed = seal("sk-secret", secrets=[OLD], context=HERE)
    with pytest.raises(SealError, match="belongs to another endpoint or address"):
        unseal(sealed, secrets=[OLD], context=elsewhere)


def test_the_first_secret_seals_and_all_open() -> None:
    old, new = (seal("sk-secret", secrets=secrets, context=HERE) for secrets in ([OLD], [NEW, OLD]))
    assert unseal(old, secrets=[NEW, OLD], context=HERE) == "sk-secret"
    assert unseal(new, secrets=[NEW], context=HERE) == "sk-secret"
    assert (sealed_with_first(old, secrets=[NEW, OLD]), sealed_with_first(new, secrets=[NEW, OLD])) == (False, True)
    assert not sealed_with_first(old, secrets=[])


def test_a_secret_that_is_gone_is_named_by_its_number_only() -> None:
    sealed = seal("sk-secret", secrets=[OLD], context=HERE)
    with pytest.raises(SealError) as caught:
        unseal(sealed, secrets=[NEW], context=HERE)
    assert sealed.split(".")[1] in str(caught.value)
    assert OLD not in str(caught.value)


@pytest.mark.parametrize("form", ["", "x", "2.a.b", "1..", "1.abc", "sk-secret"])
def test_another_form_is_refused(form: str) -> None:
    with pytest.raises(SealError, match="form that this version does not know"):
        unseal(form, secrets=[OLD], context=HERE)


def test_a_changed_text_is_refused() -> None:
    head, _, box = seal("sk-secret", secrets=[OLD], context=HERE).rpartition(".")
    for changed in (f"{head}.{'A' * len(box)}", f"{head}.AAAA", f"{head}.=", f"{head}.\N{GREEK SMALL LETTER ALPHA}"):
        with pytest.raises(SealError, match="does not open"):
            unseal(changed, secrets=[OLD], context=HERE)


def test_without_a_secret_nothing_is_sealed() -> None:
    with pytest.raises(SealError, match="no secret to seal with"):
        seal("sk-secret", secrets=[], context=HERE)
