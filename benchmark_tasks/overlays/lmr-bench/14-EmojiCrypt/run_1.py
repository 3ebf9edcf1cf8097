"""Calls `compute_mean_cosine_similarity`, with embeddings that the case gives in place of a model's."""

import base64
import json
import re
import zlib
from enum import Enum
from functools import partial
from unittest.mock import patch

import numpy as np
import torch
from probe_tools import absent, missing, without_gradient

VECTORS = {}
"""The case's embedding of each level, by the level as `_plain` writes it."""
DEFAULT_RNG = np.random.default_rng
SENTENCE_LENGTH, OPENAI_LENGTH = 384, 1536
NORMALISED = re.compile(r"(^|/)(all|bge|(multilingual-)?e5|gtr-t5|sentence-t5)-|-cos-v")
"""Names of models that end with a layer which normalises embeddings, as their cards say."""


def _plain(text):
    """Return the text as models read it: without regard to letter case and to how wide spaces are."""
    return " ".join(str(text).split()).casefold()


def _vector(text):
    """Return the level's embedding; other texts have embeddings of their own, which are like no other."""
    if not isinstance(text, str):
        raise TypeError(f"only texts have embeddings, not {type(text).__name__}")
    known = VECTORS.get(_plain(text))
    return DEFAULT_RNG(zlib.crc32(_plain(text).encode())).standard_normal(4) if known is None else known


def _of_length(vector, length):
    """Repeat the vector, and fill the rest with zeros: no length changes a cosine."""
    return np.pad(np.tile(vector, length // len(vector)), (0, length % len(vector))).astype(np.float32)


def _rows(texts, length, *, unit):
    rows = np.stack([_of_length(_vector(text), length) for text in texts]) if len(texts) else np.zeros((0, length))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True) if unit else rows


def _batch(embeddings):
    if isinstance(embeddings, list) and embeddings and isinstance(embeddings[0], torch.Tensor):
        embeddings = torch.stack(embeddings)
    if not isinstance(embeddings, torch.Tensor):
        embeddings = torch.as_tensor(np.asarray(embeddings))
    return embeddings[None] if embeddings.ndim == 1 else embeddings


def _unit(embeddings):
    return torch.nn.functional.normalize(_batch(embeddings), dim=1)


def dot_score(a, b):
    """Return the dot products of all rows of `a` and `b`, single vectors being one row."""
    return _batch(a) @ _batch(b).T


def cos_sim(a, b):
    """Return the cosines of all rows."""
    return dot_score(_unit(a), _unit(b))


def pairwise_dot_score(a, b):
    """Return the dot product of each row of `a` and the same of `b`."""
    return (_batch(a) * _batch(b)).sum(dim=-1)


def pairwise_cos_sim(a, b):
    """Return the cosine of each row of `a` and the same of `b`."""
    return pairwise_dot_score(_unit(a), _unit(b))


class SimilarityFunction(Enum):
    """The library's names of similarities."""

    COSINE = "cosine"
    DOT = DOT_PRODUCT = "dot"
    EUCLIDEAN = "euclidean"
    MANHATTAN = "manhattan"

    @staticmethod
    def to_similarity_fn(name):
        """Return the function that compares all rows."""
        return _named_like(name, cos_sim, dot_score)

    @staticmethod
    def to_similarity_pairwise_fn(name):
        """Return the function that compares each row with the same of the other."""
        return _named_like(name, pairwise_cos_sim, pairwise_dot_score)


def _named_like(similarity, of_cosine, of_dot):
    name = getattr(similarity, "value", similarity)
    if name not in ("cosine", "dot"):
        raise missing("sentence_transformers", f"similarity {name!r}")
    return of_cosine if name == "cosine" else of_dot


class SentenceTransformer:
    """The library's encoder. What it cannot answer fails with a sentence."""

    device = torch.device("cpu")
    max_seq_length = 256

    def __init__(self, model_name_or_path="", *_args, similarity_fn_name=None, truncate_dim=None, **_options):
        self.similarity_fn_name = similarity_fn_name or "cosine"
        self.truncate_dim = truncate_dim
        self._unit = bool(NORMALISED.search(str(model_name_or_path)))

    def __getattr__(self, name):
        raise missing("sentence_transformers", f"SentenceTransformer.{name}")

    def encode(
        self,
        sentences,
        *_args,
        output_value="sentence_embedding",
        precision="float32",
        convert_to_numpy=True,
        convert_to_tensor=False,
        normalize_embeddings=False,
        truncate_dim=None,
        **_options,
    ):
        """Return one embedding for a text, one a row for several; as tensors only on request."""
        if output_value != "sentence_embedding" or precision != "float32":
            raise missing("sentence_transformers", f"encode(output_value={output_value!r}, precision={precision!r})")
        single = isinstance(sentences, str)
        length = truncate_dim or self.get_sentence_embedding_dimension()
        rows = _rows([sentences] if single else sentences, length, unit=self._unit or normalize_embeddings)
        if convert_to_tensor or not convert_to_numpy:
            tensors = torch.from_numpy(rows)
            return tensors[0] if single else tensors if convert_to_tensor else list(tensors)
        return rows[0] if single else rows

    encode_query = encode_document = encode_multi_process = encode

    def start_multi_process_pool(self, *_args, **_options):
        """Return a pool without processes."""
        return {}

    def stop_multi_process_pool(self, _pool=None):
        """Do nothing."""

    @property
    def similarity(self):
        """The function that compares all rows."""
        return SimilarityFunction.to_similarity_fn(self.similarity_fn_name)

    @property
    def similarity_pairwise(self):
        """The function that compares each row with the same of the other."""
        return SimilarityFunction.to_similarity_pairwise_fn(self.similarity_fn_name)

    def get_sentence_embedding_dimension(self):
        """Return how long an embedding is."""
        return self.truncate_dim or SENTENCE_LENGTH

    get_embedding_dimension = get_sentence_embedding_dimension

    def get_max_seq_length(self):
        """Return how many tokens of a text count."""
        return self.max_seq_length

    def to(self, *_args, **_options):
        """Return the encoder: it is where it is."""
        return self

    cuda = cpu = eval = train = half = bfloat16 = float = double = requires_grad_ = to


class Record(dict):
    """A reply of OpenAI's, whose fields are attributes and, as in old versions, keys."""

    __getattr__ = dict.__getitem__

    def model_dump(self, **_options):
        """Return it as a dict."""
        return dict(self)

    def model_dump_json(self, **_options):
        """Return it as JSON."""
        return json.dumps(self)

    to_dict = to_dict_recursive = model_dump
    to_json = model_dump_json


def create(*, input, model=None, engine=None, dimensions=None, encoding_format="float", **_options):  # noqa: A002 - the name in OpenAI's client
    """Return embeddings of length 1, as OpenAI's are, of one text or several."""
    rows = _rows([input] if isinstance(input, str) else input, dimensions or OPENAI_LENGTH, unit=True)
    rows = [base64.b64encode(row).decode() if encoding_format == "base64" else row.tolist() for row in rows]
    data = [Record(object="embedding", index=index, embedding=row) for index, row in enumerate(rows)]
    return Record(object="list", data=data, model=model or engine, usage=Record(prompt_tokens=1, total_tokens=1))


async def acreate(**options):
    """Return what `create` does, once it is awaited."""
    return create(**options)


class Embedding:
    """`client.embeddings`, and `openai.Embedding` of old versions."""

    create = staticmethod(create)
    acreate = staticmethod(acreate)


class AsyncEmbedding:
    """`client.embeddings` of the client that is awaited."""

    create = staticmethod(acreate)


class OpenAIError(Exception):
    """What answers may catch; nothing raises it."""


class OpenAI:
    """OpenAI's client. It only embeds."""

    embeddings = Embedding()

    def __init__(self, *_args, **options):
        vars(self).update(options)

    def __getattr__(self, name):
        raise missing("openai", f"{type(self).__name__}.{name}")

    def with_options(self, **_options):
        """Return the client."""
        return self

    copy = __enter__ = with_options

    def close(self, *_error):
        """Do nothing."""

    __exit__ = close


class AsyncOpenAI(OpenAI):
    """OpenAI's client for coroutines."""

    embeddings = AsyncEmbedding()

    async def __aenter__(self):
        return self

    async def close(self, *_error):
        """Do nothing."""

    __aexit__ = close


def get_embedding(text, engine=None, **options):
    """Return one text's embedding, as the helpers of OpenAI's old client do."""
    return create(input=text, engine=engine, **options).data[0].embedding


def get_embeddings(texts, engine=None, **options):
    """Return the embedding of each text."""
    return [get_embedding(text, engine, **options) for text in texts]


absent("sentence_transformers", SentenceTransformer=SentenceTransformer, SimilarityFunction=SimilarityFunction)
absent("sentence_transformers.similarity_functions", SimilarityFunction=SimilarityFunction)
absent(
    "sentence_transformers.util",
    cos_sim=cos_sim,
    pytorch_cos_sim=cos_sim,
    dot_score=dot_score,
    pairwise_cos_sim=pairwise_cos_sim,
    pairwise_dot_score=pairwise_dot_score,
    normalize_embeddings=_unit,
)
ERRORS = (
    "APIConnectionError APIError APIStatusError APITimeoutError AuthenticationError BadRequestError ConflictError "
    "InternalServerError InvalidRequestError NotFoundError OpenAIError PermissionDeniedError RateLimitError "
    "ServiceUnavailableError Timeout UnprocessableEntityError"
)
absent(
    "openai",
    **dict.fromkeys(("OpenAI", "AzureOpenAI", "Client"), OpenAI),
    **dict.fromkeys(("AsyncOpenAI", "AsyncAzureOpenAI", "AsyncClient"), AsyncOpenAI),
    **dict.fromkeys(ERRORS.split(), OpenAIError),
    embeddings=OpenAI.embeddings,
    Embedding=Embedding,
)
absent("openai.error", **dict.fromkeys(ERRORS.split(), OpenAIError))
absent(
    "openai.embeddings_utils",
    get_embedding=get_embedding,
    get_embeddings=get_embeddings,
    cosine_similarity=lambda a, b: np.dot(a, b) / (np.linalg.norm(a) * np.linalg.norm(b)),
)

from Tabular import compute_mean_cosine_similarity  # noqa: E402 - after the stand-ins


class DrawnForNothingError(ValueError):
    """An embedding was drawn, and its level was not read."""


class Drawing:
    """Generators and functions that draw whole embeddings, instead of NumPy's and PyTorch's.

    The reference implementation draws embeddings: first the original level's, then the decrypted one's, pair by pair.
    In that order a drawn embedding is that of the level, if this level was read before.
    """

    waiting = ()

    def __init__(self, *_seed):
        pass

    @classmethod
    def of_shape(cls, shape):
        """Return embeddings of the next levels as an array of `shape`; the last axis is an embedding."""
        if not shape:
            raise missing("numpy.random", "embedding that is drawn number by number")
        rows = []
        for _ in range(int(np.prod(shape[:-1]))):
            description = next(cls.waiting, None)
            if description is None or not description.was_read:
                raise DrawnForNothingError(
                    "an embedding was drawn for a level that was not read: take each level of a pair from its "
                    "description, then embed it"
                )
            rows.append(_of_length(description.vector, shape[-1]))
        return np.reshape(rows, shape).astype(float)

    def rand(self, *shape):
        """Return embeddings; the shape is given number by number."""
        return self.of_shape(shape)

    randn = rand

    def random(self, size=None, **_options):
        """Return embeddings; the shape is a number or a tuple."""
        return self.of_shape(() if size is None else tuple(np.atleast_1d(size)))

    random_sample = ranf = sample = standard_normal = random

    def normal(self, _loc=0.0, _scale=1.0, size=None, **_options):
        """Return embeddings."""
        return self.random(size)

    uniform = normal

    @classmethod
    def tensor(cls, *shape, size=None, **_options):
        """Return embeddings as a tensor."""
        shape = shape if size is None else (size,)
        return torch.from_numpy(cls.of_shape(tuple(np.ravel(shape)))).float()

    @classmethod
    def patches(cls):
        """Return contexts in which this is what NumPy and PyTorch draw with."""
        names = ("rand", "randn", "random", "random_sample", "ranf", "sample", "standard_normal", "normal", "uniform")
        numpy = {name: getattr(cls(), name) for name in names} | {"default_rng": cls, "RandomState": cls}
        return patch.multiple(np.random, **numpy), patch.multiple(torch, rand=cls.tensor, randn=cls.tensor)


class Description(str):
    """The description of a level, which notes whether anything was taken from it."""

    def __new__(cls, text, vector):
        """Return the text with the level's embedding."""
        made = super().__new__(cls, text)
        made.__dict__.update(vector=vector, was_read=False)
        return made

    def __getattribute__(self, name):
        """Note the use of one of a text's methods."""
        if name in vars(str) and not name.startswith("__"):
            self.was_read = True
        return super().__getattribute__(name)

    def _reading(method):  # noqa: N805 - makes methods, and is none
        def read(self, *args):
            self.was_read = True
            return method(self, *args)

        return read

    __getitem__, __contains__, __iter__, __add__ = map(
        _reading, (str.__getitem__, str.__contains__, str.__iter__, str.__add__)
    )

    def __reduce__(self):
        """Be a plain text in files."""
        return str, (str(self),)


def _noting(function, *args, **options):
    for value in (*args, *options.values()):
        if isinstance(value, Description):
            value.was_read = True
    return function(*args, **options)


def _regular_expressions():
    names = ("search", "match", "fullmatch", "split", "findall", "finditer", "sub")
    return patch.multiple(re, **{name: partial(_noting, getattr(re, name)) for name in names})


def _number(similarity):
    """Return the mean as a number: the repository's own form of it is an array with one element."""
    array = np.asarray(without_gradient(similarity))
    return float(array.item()) if array.size == 1 and array.dtype.kind in "fiu" else similarity


def run(case):
    """Return the mean similarity."""
    named = [
        Description(f"Feature: {case['features'][place // 2]}, Value: {text}", vector)
        for place, (text, vector) in enumerate(zip(case["levels"], case["vectors"], strict=True))
    ]
    VECTORS.clear()
    VECTORS.update(zip(map(_plain, case["levels"]), case["vectors"], strict=True))
    Drawing.waiting = iter(named)
    numpy, pytorch = Drawing.patches()
    with numpy, pytorch, _regular_expressions():
        similarity = compute_mean_cosine_similarity(dict(zip(named[::2], named[1::2], strict=True)))
    return {"similarity": _number(similarity)}
