"""From the text of a chain to a normalised answer."""

import re
from decimal import Decimal

_MARK = re.compile(r"the answer is", re.IGNORECASE)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def final_answer(text):
    """Return what follows the last "the answer is" on its line, or None when there is nothing."""
    marks = list(_MARK.finditer(text))
    if not marks:
        return None
    lines = text[marks[-1].end() :].lstrip(" :").splitlines()
    answer = lines[0].strip() if lines else ""
    return answer or None


def normalise(answer):
    """Return one spelling for equal answers.

    Case, outer white space, a final full stop, dollar signs, percent signs and thousands separators do not matter; numbers lose
    needless zeros ("3.50" and "3.5", "-0" and "0"). The result may be empty.
    """
    plain = answer.strip().lower().removesuffix(".").replace("$", "").replace("%", "").replace(",", "").strip()
    if _NUMBER.fullmatch(plain):
        number = Decimal(plain)
        plain = "0" if number == 0 else format(number, "f")
        if "." in plain:
            plain = plain.rstrip("0").rstrip(".")
    return plain
