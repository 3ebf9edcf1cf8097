"""Calls `spacy_result_to_conll` with a stand-in for spaCy, whose parser knows the case's sentence."""

from itertools import accumulate

from probe_tools import absent, missing, returned

PARSED = {}
"""The case's parse, by its text."""
TEXT_TESTS = {"alpha": "isalpha", "digit": "isdigit", "lower": "islower", "upper": "isupper", "title": "istitle"}
NOUNS = ("NOUN", "PROPN", "PRON")


class Morphology(dict):
    """Features of a word: the stand-in's model finds none."""

    def __str__(self):
        return ""

    def to_dict(self):
        """Return the features by their names."""
        return dict(self)

    def get(self, _field, default=()):
        """Return the values of one feature."""
        return list(default)


class Token:
    """A word with its parse and the attributes of spaCy's; what has no meaning in a parse is refused in a sentence."""

    ent_type_ = ent_id_ = ent_kb_id_ = ""
    ent_iob_ = "O"
    lang_ = "en"
    is_ascii = property(lambda self: self.text.isascii())
    is_space = is_stop = is_oov = like_url = like_email = False

    def __init__(self, doc, i, columns):
        self.doc, self.i = doc, i
        self.text = self.orth_ = columns["text"]
        self.lower_ = self.norm_ = self.text.lower()
        self.lemma_, self.pos_, self.tag_, self.dep_ = (
            columns[name] for name in ("lemma", "coarse", "fine", "relation")
        )
        self.idx = columns["offset"]
        self.morph = Morphology()
        self._head = columns["head"]

    def __getattr__(self, name):
        test = TEXT_TESTS.get(name.removeprefix("is_"))
        if name.startswith("is_") and test:
            return getattr(self.text, test)()
        raise missing("spaCy", f"Token.{name}")

    def __str__(self):
        return self.text

    __repr__ = __str__

    def __len__(self):
        return len(self.text)

    def __lt__(self, other):
        return self.i < other.i

    head = property(lambda self: self.doc[self._head])
    sent = property(lambda self: self.doc[:])
    whitespace_ = property(lambda self: " " if self.i + 1 < len(self.doc) else "")
    text_with_ws = property(lambda self: self.text + self.whitespace_)
    is_punct = property(lambda self: self.pos_ == "PUNCT")
    like_num = property(lambda self: self.pos_ == "NUM" or self.text.isdigit())
    is_currency = property(lambda self: self.text == "$")
    is_sent_start = property(lambda self: self.i == 0)
    is_sent_end = property(lambda self: self.i + 1 == len(self.doc))
    sent_start = property(lambda self: 1 if self.is_sent_start else -1)
    n_lefts = property(lambda self: len(list(self.lefts)))
    n_rights = property(lambda self: len(list(self.rights)))
    lefts = property(lambda self: (child for child in self.children if child.i < self.i))
    rights = property(lambda self: (child for child in self.children if child.i > self.i))
    left_edge = property(lambda self: min(self.subtree))
    right_edge = property(lambda self: max(self.subtree))

    @property
    def children(self):
        """Yield the words whose head this is."""
        yield from (token for token in self.doc if token.head is self and token is not self)

    @property
    def subtree(self):
        """Yield this word and those below it, in the order of the sentence."""
        yield from (token for token in self.doc if token is self or self.is_ancestor(token))

    @property
    def ancestors(self):
        """Yield the heads up to the root."""
        token = self
        while token.head is not token:
            token = token.head
            yield token

    def is_ancestor(self, descendant):
        """Return whether the other word is below this one."""
        return any(token is self for token in descendant.ancestors)

    def nbor(self, i=1):
        """Return the word so many places on."""
        return self.doc[self.i + i]

    def has_head(self):
        """Return whether there is a parse."""
        return True

    has_dep = has_head

    def has_morph(self):
        """Return whether features were looked for."""
        return False


class Span:
    """Words in a row."""

    label_ = ""

    def __init__(self, doc, start, end):
        self.doc, self.start, self.end = doc, start, end

    def __getattr__(self, name):
        raise missing("spaCy", f"{type(self).__name__}.{name}")

    def __iter__(self):
        return iter(self._words())

    def __len__(self):
        return self.end - self.start

    def __getitem__(self, key):
        if isinstance(key, slice):
            start, end, _ = key.indices(len(self))
            return Span(self.doc, self.start + start, self.start + max(start, end))
        return self._words()[key]

    def __str__(self):
        return self.text

    __repr__ = __str__

    def _words(self):
        return self.doc.words[self.start : self.end]

    text = property(lambda self: " ".join(token.text for token in self))
    lemma_ = property(lambda self: " ".join(token.lemma_ for token in self))
    start_char = property(lambda self: self[0].idx)
    end_char = property(lambda self: self[0].idx + len(self.text))
    root = property(lambda self: min(self, key=lambda token: len(list(token.ancestors))))
    sent = property(lambda self: self.doc[:])
    ents = ()

    @property
    def noun_chunks(self):
        """Yield each noun with what is to its left and below it."""
        yield from (
            Span(self.doc, token.left_edge.i, token.i + 1)
            for token in self
            if token.pos_ in NOUNS and token.left_edge.i >= self.start
        )


class Doc(Span):
    """A parsed text, which is one sentence."""

    lang_ = "en"
    is_parsed = is_tagged = is_sentenced = True

    def __init__(self, case):
        super().__init__(self, 0, len(case["text"]))
        offsets = accumulate((len(text) + 1 for text in case["text"]), initial=0)
        names = ("text", "lemma", "coarse", "fine", "relation", "head")
        rows = zip(*(case[name] for name in names), offsets, strict=False)
        self.words = [Token(self, i, dict(zip((*names, "offset"), row, strict=True))) for i, row in enumerate(rows)]

    @property
    def sents(self):
        """Yield the only sentence."""
        yield self[:]

    def has_annotation(self, name):
        """Return whether the model has looked for something: it parses, and finds no features."""
        return name != "MORPH"


class Language:
    """A loaded model. Whichever it is, it parses this case's sentence and no other."""

    lang = "en"
    max_length = 1_000_000
    pipe_names = ("tok2vec", "tagger", "parser", "attribute_ruler", "lemmatizer", "ner")

    def __getattr__(self, name):
        raise missing("spaCy", f"Language.{name}")

    def __call__(self, text, **_options):
        if str(text) not in PARSED:
            raise missing("spaCy", "parse of another text than the whole sentence")
        return PARSED[str(text)]

    def pipe(self, texts, **_options):
        """Yield the parse of each text."""
        yield from map(self, texts)


def load(*_name, **_options):
    """Return the only model."""
    return Language()


absent("spacy", load=load, Language=Language)
absent("spacy.tokens", Doc=Doc, Span=Span, Token=Token)
absent("spacy.language", Language=Language)
absent("en_core_web_sm", load=load)

from conll_tree import spacy_result_to_conll  # noqa: E402 - after the stand-ins


def _row(line):
    """One word's fields. Open are how columns are set apart and how an empty field and the root are written."""
    fields = [field.strip() for field in (line.split("\t") if "\t" in line else line.split())]
    empty = ("", "-", "SpaceAfter=No")
    fields = ["_" if place in (5, 8, 9) and field in empty else field for place, field in enumerate(fields)]
    if len(fields) == 10:
        fields[6] = "0" if fields[6] == fields[0] else fields[6]
        fields[7] = fields[7].lower()
    return fields


def run(case):
    """Return the rows that begin with a number: a header and comments are left open."""
    sentence = " ".join(case["text"])
    PARSED.clear()
    PARSED[sentence] = Doc(case)
    lines = returned(spacy_result_to_conll(sentence), str, "a text is").splitlines()
    return {"rows": [_row(line) for line in lines if line.split()[:1] and line.split()[0].isdigit()]}
