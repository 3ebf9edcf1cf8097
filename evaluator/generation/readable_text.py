"""Recognise unreadable text: fonts without a character map yield symbols, and words of no language.

The check is coarse, since refusing a good paper is as bad as reading a bad one. Of 41 files of LMR-BENCH's papers (PDF
and JSON), the one with the most tables has 61 % alphabetic characters, and each has at least 19 % words of the list.
"""

from __future__ import annotations

import re
from typing import Final

_CHUNK: Final = 3000
_LEAST_READABLE: Final = 1 / 3
_LEAST_LETTERS: Final = 0.3
_LEAST_WORDS: Final = 0.05
_WORD: Final = re.compile(r"[^\W\d_]+")

_WORDS: Final = frozenset(
    " ".join(
        [
            "the of and to in is that for we with as on are by this be it from an our can not at which or these",
            "der die und das den von mit für ist eine ein nicht auch wird auf im des dem zu sich",  # German
            "le la les des et un une que pour dans est par sur nous du en qui avec pas ce",  # French
            "el los las que del por una con para se es como no su al más",  # Spanish
            "que do da os as em uma com para não por mais dos como um",  # Portuguese
            "il di che la per un una con non del della sono le si nel dei",  # Italian
            "de het een van en dat op te zijn met voor niet aan wij",  # Dutch
            "och att det som en på är av för med den till ett",  # Swedish
            "og af til som at er det med ikke på",  # Danish, Norwegian
            "ja on ei että se oli ovat kun mutta joka",  # Finnish
            "się na nie jest że do to od przez oraz dla są",  # Polish
            "na je se že pro jsou to by jako do ve",  # Czech
            "bir ve bu için ile olarak da de olan daha çok",  # Turkish
            "yang dan di dengan untuk dari pada ini dalam adalah",  # Indonesian, Malay
            "của và là các được trong cho một có với không",  # Vietnamese
            "și de la cu în pe din care este sunt pentru",  # Romanian
            "az és hogy egy nem van is meg ez mint",  # Hungarian
        ]
    ).split()
)
"""Frequent words of prose in languages of Latin script, none of one character: formulas are full of those."""


def is_readable(text: str) -> bool:
    """Return whether at least a third of ``text``, in parts of 3,000 characters, is made of a language's words.

    In scripts other than Latin only alphabetic characters are counted. Pages of tables do not make a paper unreadable.
    """
    parts = [text[start : start + _CHUNK] for start in range(0, len(text), _CHUNK)]
    return sum(map(_part_is_readable, parts)) >= _LEAST_READABLE * len(parts)


def _part_is_readable(part: str) -> bool:
    signs = "".join(part.split())
    letters = sum(map(str.isalpha, signs))
    if letters < _LEAST_LETTERS * len(signs):
        return False
    if sum(map(_is_latin, signs)) * 2 < letters:
        return True
    words = _WORD.findall(part.lower())
    return sum(word in _WORDS for word in words) >= _LEAST_WORDS * len(words)


def _is_latin(character: str) -> bool:
    return character.isalpha() and (character < "\u0250" or "\u1e00" <= character < "\u1f00")
