"""Turn tables into cards on phones with one tag, without losing the table for screen readers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from django import template
from django.utils.html import strip_tags
from django.utils.safestring import SafeString, mark_safe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.template.base import NodeList, Parser, Token
    from django.template.context import Context

register = template.Library()

_TAG: Final = re.compile(r"<(/?)(thead|tbody|tfoot|tr|th|td)\b([^>]*)>")
_ROLES: Final = {"thead": "rowgroup", "tbody": "rowgroup", "tfoot": "rowgroup", "tr": "row", "td": "cell"}


@register.tag
def cards(parser: Parser, token: Token) -> CardsNode:
    """Write a table whose rows are cards on phones: ``{% cards "plain stacked" %}<thead>…{% endcards %}``.

    The argument has the table's classes. Every part without a role gets its own, because CSS that displays a row as a
    card hides the table from some screen readers. In a ``stacked`` table, every ``td`` gets its column's heading as
    ``data-label``, which the card shows before the value; a template that writes ``data-label`` itself shows another
    text, or none if it is empty. Without an argument, the block is a part of a table, such as a row that is cached.
    """
    _, *classes = token.split_contents()
    nodes = parser.parse(("endcards",))
    parser.delete_first_token()
    return CardsNode(nodes, classes[0].strip("\"'") if classes else "")


class CardsNode(template.Node):
    """The node of :func:`cards`."""

    def __init__(self, nodelist: NodeList, classes: str) -> None:
        self.nodelist, self.classes = nodelist, classes

    def render(self, context: Context) -> SafeString:
        """Return the table, or the part of one, as HTML."""
        inside = "".join(_with_roles(self.nodelist.render(context), labels="stacked" in self.classes))
        whole = f'<table class="{self.classes}" role="table">{inside}</table>' if self.classes else inside
        return mark_safe(whole)  # noqa: S308 - rendered and escaped by templates; only roles and labels are added


def _with_roles(html: str, *, labels: bool) -> Iterator[str]:
    """Yield the parts of ``html``, with a role in each tag of a table and with ``labels`` in cells below a heading."""
    headings: list[str] = []
    in_head, column, end = False, 0, 0
    for tag in _TAG.finditer(html):
        closing, name, attributes = tag.groups()
        yield html[end : tag.start()]
        end = tag.end()
        if name == "thead":
            in_head = not closing
        if closing:
            yield tag[0]
            continue
        if name == "tr":
            column = 0
            headings = [] if in_head else headings
        heads_column = in_head or 'scope="col"' in attributes
        role = _ROLES.get(name) or ("columnheader" if heads_column else "rowheader")
        added = "" if " role=" in attributes else f' role="{role}"'
        if labels and name in {"td", "th"}:
            if in_head:
                headings.append(_text(html[tag.end() : html.find("</t", tag.end())]))
            elif name == "td" and "data-label=" not in attributes and column < len(headings) and headings[column]:
                added += f' data-label="{headings[column]}"'
            column += 1
        yield f"<{name}{added}{attributes}>"
    yield html[end:]


def _text(html: str) -> str:
    """Return the text of a heading, in which ``&``, ``<`` and ``>`` are still escaped."""
    return " ".join(strip_tags(html).split()).replace('"', "&quot;")
