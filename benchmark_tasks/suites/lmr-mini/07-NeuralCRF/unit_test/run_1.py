"""Builds scheme and field of a case and calls `decode`."""

from tagger.decoding import decode
from tagger.parameters import FieldParameters
from tagger.scheme import TagScheme


def run(case):
    """Return tag names, spans and score."""
    parameters = FieldParameters(case["transitions"], case["start"], case["end"])
    decoding = decode(case["emissions"], parameters, TagScheme(case["types"]))
    return {
        "tags": list(decoding.tags),
        "spans": [list(span) for span in decoding.spans],
        "score": decoding.score,
    }
