"""Entity spans of well-formed tag sequences."""


def spans_of(tags):
    """Return (type, first token, last token) of every entity in a well-formed list of tag names, in order."""
    spans = []
    first = 0
    for position, tag in enumerate(tags):
        if tag[0] in "BS":
            first = position
        if tag[0] in "ES":
            spans.append((tag[2:], first, position))
    return spans
