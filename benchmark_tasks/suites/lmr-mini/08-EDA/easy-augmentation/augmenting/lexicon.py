"""Words that mean the same, and words that mean little."""

STOP_WORDS = frozenset("a an and are as at be by for from has in is it its of on or that the this to was were will with".split())


class Lexicon:
    """Synonyms by word. Words without an entry have none; stop words are never replaced."""

    def __init__(self, synonyms):
        self.table = {word: list(others) for word, others in synonyms.items()}

    def synonyms(self, word):
        """Return the list of synonyms, empty for stop words and unknown words."""
        return [] if word in STOP_WORDS else self.table.get(word, [])

    def replaceable(self, words):
        """Return the distinct words of a list that have synonyms, in order of first appearance."""
        return [word for word in dict.fromkeys(words) if self.synonyms(word)]
