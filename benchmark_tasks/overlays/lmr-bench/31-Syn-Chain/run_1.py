"""Calls `spacy_result_to_conll` with a stand-in for spaCy, whose parser knows the case's sentence."""

import sys
import zlib
from functools import total_ordering
from itertools import accumulate
from types import ModuleType, SimpleNamespace

import numpy as np
from probe_tools import absent, missing, returned

PARSED = {}
"""The case by its text."""
TEXT_TESTS = {"alpha": "isalpha", "digit": "isdigit", "lower": "islower", "upper": "isupper", "title": "istitle"}
NOUNS = ("NOUN", "PROPN", "PRON")
COMPONENTS = {
    "tok2vec": ("fine", "coarse", "lemma", "relation", "head"),
    "tagger": ("fine", "coarse", "lemma"),
    "parser": ("relation", "head"),
    "attribute_ruler": ("coarse", "lemma"),
    "lemmatizer": ("lemma",),
    "ner": (),
}
"""The model's components, each with the columns that stay empty without it."""
ANNOTATIONS = {"TAG": "fine", "POS": "coarse", "LEMMA": "lemma", "DEP": "relation", "HEAD": "head"}


def _refused(path):
    def refuse(*_args, **_options):
        raise missing("spaCy", path)

    return staticmethod(refuse)


class Strings:
    """spaCy's store of texts: it gives the number of a text, and the text of a number."""

    def __init__(self):
        self._texts = {}

    def add(self, text):
        """Return the text's number, which is 0 for an empty text."""
        number = zlib.crc32(text.encode())
        self._texts[number] = text
        return number

    def __getitem__(self, key):
        return self.add(key) if isinstance(key, str) else self._texts[int(key)]

    def __contains__(self, key):
        return key in self._texts.values() or key in self._texts

    as_int = as_string = __getitem__


VOCABULARY = SimpleNamespace(strings=Strings(), lang="en")


class Symbols(ModuleType):
    """`spacy.symbols` and `spacy.attrs`: numbers of labels and attributes by their names."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if name in ("IDS", "NAMES"):
            raise missing("spaCy", f"{self.__name__.removeprefix('spacy.')}.{name}")
        return VOCABULARY.strings.add(name)


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

    to_json = __str__


@total_ordering
class Token:
    """A word with its parse and the attributes of spaCy's; what has no meaning in a parse is refused in a sentence."""

    ent_type_ = ent_id_ = ent_kb_id_ = ""
    ent_iob_, ent_iob = "O", 2
    lang_ = "en"
    vocab = VOCABULARY
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
        # The number of a text whose attribute ends with an underscore: `pos` is that of `pos_`.
        if not name.endswith("_") and isinstance(getattr(self, f"{name}_", None), str):
            return VOCABULARY.strings.add(getattr(self, f"{name}_"))
        raise missing("spaCy", f"Token.{name}")

    def __str__(self):
        return self.text

    __repr__ = __str__

    def __len__(self):
        return len(self.text)

    def __lt__(self, other):
        return self.i < other.i

    def to_array(self, name):
        """Return the number of an attribute in an array of spaCy's, where a head is so many places away."""
        others = {"HEAD": self._head - self.i, "LENGTH": len(self), "SPACY": bool(self.whitespace_), "MORPH": 0}
        return int(others[name] if name in others else getattr(self, name.lower())) % 2**64

    set_extension = _refused("Token.set_extension")
    shape_ = property(lambda self: _shape(self.text))
    prefix_ = property(lambda self: self.text[:1])
    suffix_ = property(lambda self: self.text[-3:])
    head = property(lambda self: self.doc[self._head])
    sent = property(lambda self: self.doc[:])
    whitespace_ = property(lambda self: " " if self.i + 1 < len(self.doc) else "")
    text_with_ws = property(lambda self: self.text + self.whitespace_)
    is_punct = property(lambda self: self.pos_ == "PUNCT")
    like_num = property(lambda self: self.pos_ == "NUM" or self.text.isdigit())
    is_currency = property(lambda self: self.text == "$")
    is_bracket = property(lambda self: self.text in set("()[]{}<>"))
    is_left_punct = property(lambda self: self.text in set("([{<\"'`"))
    is_right_punct = property(lambda self: self.text in set(")]}>\"'"))
    is_quote = property(lambda self: self.text in set("\"'`"))
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
    vocab = VOCABULARY
    set_extension = _refused("Span.set_extension")

    def __init__(self, doc, start, end, **_options):
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

    def as_doc(self):
        """Return this text: it has no other part."""
        if len(self) != len(self.doc):
            raise missing("spaCy", "Span.as_doc of a part of the sentence")
        return self.doc

    def to_array(self, names):
        """Return the words' attributes, by their names or numbers, as rows; one attribute as one row."""
        single = isinstance(names, (str, int))
        wanted = [
            name if isinstance(name, str) else VOCABULARY.strings[name] for name in ([names] if single else names)
        ]
        rows = [[token.to_array(name.upper()) for name in wanted] for token in self]
        table = np.array(rows, dtype=np.uint64).reshape(len(rows), len(wanted))
        return table[:, 0] if single else table

    text = orth_ = property(lambda self: " ".join(token.text for token in self))
    text_with_ws = property(lambda self: "".join(token.text_with_ws for token in self))
    sents = property(lambda self: iter([self.sent]))
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
    is_parsed = is_tagged = is_sentenced = is_nered = True
    cats = spans = user_data = property(lambda _: {})
    set_extension = _refused("Doc.set_extension")
    __init__ = _refused("Doc that is made of words")

    @classmethod
    def of(cls, case, empty):
        """Return the case's text, whose columns are filled but for some."""
        doc = cls.__new__(cls)
        doc.doc, doc.start, doc.end, doc.empty = doc, 0, len(case["text"]), empty
        columns = {name: [""] * doc.end if name in empty else values for name, values in case.items()}
        if "head" in empty:
            columns["head"] = range(doc.end)
        columns["offset"] = accumulate((len(text) + 1 for text in case["text"]), initial=0)
        rows = zip(*columns.values(), strict=False)
        doc.words = [Token(doc, i, dict(zip(columns, row, strict=True))) for i, row in enumerate(rows)]
        return doc

    def has_annotation(self, name, **_options):
        """Return whether the model has looked for something: it finds no features."""
        name = name if isinstance(name, str) else VOCABULARY.strings[name]
        return name != "MORPH" and ANNOTATIONS.get(name) not in self.empty

    def to_json(self, **_options):
        """Return text, sentence and words with their parse as a dict."""
        tokens = [
            {
                "id": token.i,
                "start": token.idx,
                "end": token.idx + len(token),
                "tag": token.tag_,
                "pos": token.pos_,
                "morph": str(token.morph),
                "lemma": token.lemma_,
                "dep": token.dep_,
                "head": token.head.i,
            }
            for token in self
        ]
        sentence = {"start": self.start_char, "end": self.end_char}
        return {"text": self.text, "ents": [], "sents": [sentence], "tokens": tokens}

    def copy(self):
        """Return the text, which nothing changes."""
        return self


def _shape(text):
    """Letters as x and X and digits as d, runs of more than four cut off, as in spaCy's `shape_`."""
    shape = ""
    for letter in text:
        kind = "d" if letter.isdigit() else letter if not letter.isalpha() else "X" if letter.isupper() else "x"
        shape += "" if shape.endswith(4 * kind) else kind
    return shape


def _names(value):
    return {value} if isinstance(value, str) else set(value or ())


class DisabledPipes(list):
    """The names of components that are off, until the context ends or `restore` is called."""

    def __init__(self, model, names):
        super().__init__(names)
        self._model, self._before = model, set(model.off)
        model.off |= set(names)

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        self.restore()

    def restore(self):
        """Turn the components on again."""
        self._model.off = self._before


class Language:
    """A loaded model. Whichever it is, it parses this case's sentence and no other."""

    lang = "en"
    meta = {"lang": "en", "name": "core_web_sm", "version": "3.7.1"}
    max_length = 1_000_000
    batch_size = 1000
    vocab = VOCABULARY
    component_names = list(COMPONENTS)
    component = _refused("Language.component")
    factory = _refused("Language.factory")

    def __init__(self, off=()):
        self.off = set(off)
        self.tokenizer = self.make_doc

    def __getattr__(self, name):
        raise missing("spaCy", f"Language.{name}")

    def __call__(self, text, *, disable=(), **_options):
        if str(text) not in PARSED:
            raise missing("spaCy", "parse of another text than the whole sentence")
        empty = {column for name in self.off | _names(disable) for column in COMPONENTS.get(name, ())}
        return Doc.of(PARSED[str(text)], empty)

    def make_doc(self, text):
        """Return the words without a parse."""
        return self(text, disable=COMPONENTS)

    def pipe(self, texts, *, as_tuples=False, disable=(), **_options):
        """Yield the parse of each text, with what belongs to it if it is the first of two."""
        for text in texts:
            yield (self(text[0], disable=disable), text[1]) if as_tuples else self(text, disable=disable)

    pipe_names = property(lambda self: [name for name in COMPONENTS if name not in self.off])
    disabled = property(lambda self: [name for name in COMPONENTS if name in self.off])

    def has_pipe(self, name):
        """Return whether a component is on."""
        return name in self.pipe_names

    def select_pipes(self, *, disable=None, enable=None):
        """Turn off these components, or all but these."""
        names = _names(disable) if enable is None else set(COMPONENTS) - _names(enable)
        return DisabledPipes(self, sorted(names))

    def disable_pipes(self, *names):
        """Turn off these components."""
        return self.select_pipes(disable=names[0] if len(names) == 1 else names)

    def disable_pipe(self, name):
        """Turn a component off."""
        self.off.add(name)

    remove_pipe = disable_pipe

    def enable_pipe(self, name):
        """Turn a component on again."""
        self.off.discard(name)

    def add_pipe(self, factory_name, **_options):
        """Do nothing for a component that only ends sentences: the text is one."""
        if factory_name not in ("sentencizer", "senter"):
            raise missing("spaCy", f"Language.add_pipe({factory_name!r})")


def load(*_name, disable=(), enable=None, exclude=(), **_options):
    """Return the only model, without these components or with these alone."""
    others = () if enable is None else set(COMPONENTS) - _names(enable)
    return Language(_names(disable) | _names(exclude) | set(others))


MODELS = ("en_core_web_sm", "en_core_web_md", "en_core_web_lg", "en_core_web_trf")
absent("spacy", load=load, Language=Language, explain=_refused("explain"), __version__="3.7.5")
absent("spacy.tokens", Doc=Doc, Span=Span, Token=Token)
absent("spacy.language", Language=Language)
absent("spacy.util", load_model=load, is_package=MODELS.__contains__, get_installed_models=lambda: list(MODELS))
absent(*MODELS, load=load)
sys.modules.update({name: Symbols(name) for name in ("spacy.symbols", "spacy.attrs")})

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
    PARSED[sentence] = case
    lines = returned(spacy_result_to_conll(sentence), str, "a text is").splitlines()
    return {"rows": [_row(line) for line in lines if line.split()[:1] and line.split()[0].isdigit()]}
