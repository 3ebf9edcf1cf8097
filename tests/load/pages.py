"""Read from a page what a browser uses: links, the fields of forms, and what htmx polls."""

from __future__ import annotations

from html.parser import HTMLParser

_VALUE_OF_TICKED = "on"


class Page(HTMLParser):
    """``links`` and ``polls`` are addresses; :meth:`fields` are those that the browser would send, as they are."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.polls: list[str] = []
        self._forms: dict[str, dict[str, str]] = {}
        self._form: str | None = None
        self._select = self._text = ""
        self._templates = 0
        self.feed(text)

    def fields(self, form: str) -> dict[str, str]:
        """Return the fields of the form with this id, else with this action, which is empty for the page itself.

        Raises ``LookupError`` if the page has no such form.
        """
        return dict(self._forms[form])

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect what is used. The content of templates is for scripts."""
        given = {name: value or "" for name, value in attrs}
        self._templates += tag == "template"
        if self._templates:
            return
        if "hx-get" in given:
            self.polls.append(given["hx-get"])
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag == "form":
            self._form = given.get("id") or given.get("action", "")
            self._forms.setdefault(self._form, {})
        else:
            self._field(tag, given)

    def _field(self, tag: str, given: dict[str, str]) -> None:
        form, name = given.get("form", self._form), given.get("name", "")
        if form is None:
            return
        fields = self._forms.setdefault(form, {})
        if tag == "input" and name and given.get("type") not in {"submit", "file"}:
            if given.get("type") not in {"radio", "checkbox"}:
                fields[name] = given.get("value", "")
            elif "checked" in given:
                fields[name] = given.get("value", _VALUE_OF_TICKED)
        elif tag == "select":
            self._select = name
            fields.setdefault(name, "")
        elif tag == "option" and self._select and "selected" in given:
            fields[self._select] = given.get("value", "")
        elif tag == "textarea":
            self._text = name
            fields[name] = ""

    def handle_data(self, data: str) -> None:
        """Collect the text of a text area, without the newline after its tag."""
        if self._text and self._form is not None:
            fields = self._forms[self._form]
            fields[self._text] += data if fields[self._text] else data.removeprefix("\n")

    def handle_endtag(self, tag: str) -> None:
        """Leave an element."""
        self._templates -= tag == "template"
        if tag == "form":
            self._form = None
        elif tag == "select":
            self._select = ""
        elif tag == "textarea":
            self._text = ""
