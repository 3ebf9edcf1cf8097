"""The acceptance list that the evaluator was designed against, entry by entry, as the corpus names them."""

from __future__ import annotations

from typing import Final

from evaluator.attacks.types import Group

_RESOURCES = """
fork bomb|sleep|ignored signals|SIGSTOP|closed stdout|memory bomb|memory bomb in children|deep recursion|full /tmp|
full /dev/shm|inodes|large file|stdout flood|stderr flood|busy loop|threads|zombies|open files|daemon|unread input|
segmentation fault
"""
_ESCAPE = """
network|names|metadata service|host's port|host's sockets|write elsewhere|become root|mounts|namespaces|
set-uid file and devices|kernel calls|rare sockets|host's secrets|second run|shared state|page cache|file locks|
range locks|asynchronous input|file notifications
"""
_TAMPERING = """
os._exit|sys.exit|patched allclose|patched unittest|patched pytest|AlwaysEqual|__array_function__|golden search|
frame and gc walk|forged log|forged JUnit|NaN|empty array|pickle|object dtype|kill parent|kill everybody|late writer|
forged frame|huge array|public answers|decorator|default value|os._exit at import
"""
_PATCH = """
test file|conftest.py|sitecustomize.py|.pth file|ini file|numpy.py|..|absolute path|symbolic link|submodule|executable|
.git|rename|lying header|octal name|delete|homoglyph|RTL|CRLF|NUL|binary|no effect
"""
_UPLOAD = """
zip slip|tar slip|zip device|tar device|set-uid|zip link|tar link|zip bomb|tar bomb|PAX header of 1 GB|nested archive|
duplicate names|decomposed name|deep JSON|NaN in a manifest|duplicate keys|NUL in JSON|lone surrogate|huge line
"""


def _entries(group: Group, text: str) -> list[tuple[Group, str]]:
    return [(group, name.strip()) for name in text.split("|")]


LISTED: Final = (
    *_entries(Group.RESOURCES, _RESOURCES),
    *_entries(Group.ESCAPE, _ESCAPE),
    *_entries(Group.TAMPERING, _TAMPERING),
    *_entries(Group.PATCH, _PATCH),
    *_entries(Group.UPLOAD, _UPLOAD),
)
