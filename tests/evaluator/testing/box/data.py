"""Hypothesis strategies for everything that a frame may carry."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)


def arrays() -> st.SearchStrategy[Any]:
    """Arrays of every dtype on the list, 0-dimensional and empty ones included."""
    shapes = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)
    return st.sampled_from(DTYPES).flatmap(lambda dtype: hnp.arrays(np.dtype(dtype), shapes))


def data_values() -> st.SearchStrategy[Any]:
    """Nested plain data."""
    text = st.text(st.characters(codec="utf-8"), max_size=8)
    leaves = st.one_of(st.none(), st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(), text, arrays())
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4),
        max_leaves=8,
    )
