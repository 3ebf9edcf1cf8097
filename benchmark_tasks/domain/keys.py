"""Taking typed keys out of one JSON object, collecting what is wrong instead of stopping. No Django here."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from benchmark_tasks.domain.folders import MAXIMUM_NAME, PathLeavesFolderError, clean_relative_path
from benchmark_tasks.domain.located_json import Node
from benchmark_tasks.domain.problems import ImportProblem

if TYPE_CHECKING:
    from collections.abc import Iterator

_KINDS = {
    dict: "an object",
    list: "a list",
    str: "a text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
}


class Keys:
    """One JSON object of one file. Every method reports into ``problems`` and answers with something usable.

    A key that is missing or null counts as not given. ``name`` tells the object in messages (``implementations[0]``).
    """

    def __init__(self, node: Node, *, file: str, name: str, problems: list[ImportProblem]) -> None:
        self.node = node
        self.file = file
        self.name = name
        self.problems = problems
        self.refused: set[str] = set()
        """Keys that were given and could not be used: they are not missing."""
        self._known: set[str] = set()
        self._left: dict[str, Node] = {}
        if isinstance(node.value, dict):
            self._left = dict(node.value)
        else:
            self.complain(f"{name or 'the file'} must be an object, not {_kind(node)}", node)

    def complain(self, message: str, node: Node | None = None, *, fatal: bool = True, whole: bool = False) -> None:
        """Report a problem at ``node``, else where this object begins; ``whole`` refuses the whole import."""
        place = node or self.node
        self.problems.append(ImportProblem(self.file, message, place.line, place.column, fatal, whole))

    def has(self, key: str) -> bool:
        """Whether the key is given, and not null."""
        return key in self._left and self._left[key].value is not None

    def take(self, key: str, *kinds: type) -> Node | None:
        """The key's node if it has one of ``kinds`` (exactly: true is no whole number), None if it is not given."""
        self._known.add(key)
        node = self._left.pop(key, None)
        if node is None or node.value is None:
            return None
        if type(node.value) not in kinds:
            wanted = " or ".join(_KINDS[kind] for kind in kinds)
            self.refused.add(key)
            self.complain(f"{self._path(key)} must be {wanted}, not {_kind(node)}", node)
            return None
        return node

    def ignore(self, key: str) -> None:
        """Take no notice of a key, whatever it holds."""
        self._known.add(key)
        self._left.pop(key, None)

    def text(self, key: str, *, limit: int) -> str:
        """A text without surrounding white space, at most ``limit`` characters; empty if not given."""
        node = self.take(key, str)
        return "" if node is None else self._given_text(node, key, limit)

    def texts(self, key: str, *, limit: int) -> list[tuple[str, Node]]:
        """A list of texts, each with its place."""
        node = self.take(key, list)
        found = []
        for number, item in enumerate(_items(node)):
            name = f"{self._path(key)}[{number}]"
            if isinstance(item.value, str):
                found.append((self._text_of(item, name, limit), item))
            else:
                self.complain(f"{name} must be a text, not {_kind(item)}", item)
        return found

    def path(self, key: str) -> str:
        """A clean relative path, which stays in its folder; empty if not given."""
        node = self.take(key, str)
        text = "" if node is None else self._given_text(node, key, MAXIMUM_NAME)
        return self.clean(text, node, key) if node and text else ""

    def clean(self, text: str, node: Node, key: str) -> str:
        """``text`` as a clean relative path, or empty with a problem."""
        try:
            return clean_relative_path(text)
        except PathLeavesFolderError as error:
            self.refused.add(key)
            self.complain(f"{self._path(key)}: {error}", node, whole=True)
            return ""

    def address(self, key: str) -> str:
        """A web address; empty if not given. Anything a browser would run or open locally is refused."""
        node = self.take(key, str)
        if node is None:
            return ""
        text = self._text_of(node, self._path(key), 500)
        if text and not _is_web_address(text):
            self.complain(f"{self._path(key)} must be an http or https address, not {text[:80]!r}", node)
            return ""
        return text

    def whole(self, key: str, *, low: int, high: int) -> int | None:
        """A whole number between ``low`` and ``high``; None if not given or wrong."""
        node = self.take(key, int)
        if node is None or not isinstance(node.value, int):
            return None
        if not low <= node.value <= high:
            self.refused.add(key)
            self.complain(f"{self._path(key)} must lie between {low} and {high}, not {str(node.value)[:30]}", node)
            return None
        return node.value

    def number(self, key: str, *, low: float, high: float) -> float | None:
        """A number between ``low`` and ``high``; None if not given or wrong."""
        node = self.take(key, int, float)
        if node is None or not isinstance(node.value, (int, float)):
            return None
        if not low <= node.value <= high:
            self.complain(f"{self._path(key)} must lie between {low:g} and {high:g}, not {str(node.value)[:30]}", node)
            return None
        return float(node.value)

    def flag(self, key: str) -> bool | None:
        """True or false; None if not given or wrong."""
        node = self.take(key, bool)
        return node.value if node is not None and isinstance(node.value, bool) else None

    def object(self, key: str) -> Keys | None:
        """A nested object; None if not given or wrong."""
        node = self.take(key, dict)
        return None if node is None else Keys(node, file=self.file, name=self._path(key), problems=self.problems)

    def objects(self, key: str) -> list[Keys]:
        """A list of nested objects; those that are none are reported and left out."""
        node = self.take(key, list)
        made = [
            Keys(item, file=self.file, name=f"{self._path(key)}[{number}]", problems=self.problems)
            for number, item in enumerate(_items(node))
        ]
        return [keys for keys in made if isinstance(keys.node.value, dict)]

    def names(self) -> Iterator[str]:
        """The keys not yet taken, for objects whose keys are data."""
        return iter(tuple(self._left))

    def finish(self, *, fatal: bool) -> None:
        """Report the keys that nobody took: one that is misspelt would else be ignored in silence."""
        for key, node in self._left.items():
            close = get_close_matches(key.lower()[:100], sorted(self._known), n=1)
            advice = f"did you mean {close[0]!r}?" if close else "remove it or correct its spelling"
            message = f"{self._path(key)} is an unknown key; {advice}"
            self.complain(message if fatal else f"{message} (ignored)", node, fatal=fatal)

    def _path(self, key: str) -> str:
        shown = key if key.isprintable() and len(key) <= 60 else ascii(key)[:60]
        return f"{self.name}.{shown}" if self.name else shown

    def _given_text(self, node: Node, key: str, limit: int) -> str:
        text = self._text_of(node, self._path(key), limit)
        if not text and str(node.value).strip():
            self.refused.add(key)
        return text

    def _text_of(self, node: Node, name: str, limit: int) -> str:
        text = str(node.value).strip()
        if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
            self.complain(f"{name} holds characters that cannot be stored (NUL or half a surrogate pair)", node)
            return ""
        if len(text) > limit:
            self.complain(f"{name} is longer than {limit} characters", node)
            return ""
        return text


def _items(node: Node | None) -> list[Node]:
    return node.value if node is not None and isinstance(node.value, list) else []


def _kind(node: Node) -> str:
    return "null" if node.value is None else _KINDS[type(node.value)]


def _is_web_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.netloc) and text.isprintable() and " " not in text
