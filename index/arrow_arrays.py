"""Arrow arrays of the values of Python lists.

`pyarrow.array` imports pandas where that is installed, to see whether it was given a series: a second for each process.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from itertools import accumulate

import pyarrow as pa


def integer_array(values: Iterable[int]) -> pa.Array:
    """Return an array of integers of 64 bits. Raises OverflowError if one does not fit."""
    return _number_array(array("q", values), pa.int64())


def float_array(values: Iterable[float]) -> pa.Array:
    """Return an array of numbers of 32 bits."""
    return _number_array(array("f", values), pa.float32())


def bytes_array(values: Sequence[bytes]) -> pa.Array:
    """Return an array of byte strings."""
    return _joined_array(values, pa.large_binary())


def text_array(values: Iterable[str]) -> pa.Array:
    """Return an array of strings. Raises UnicodeEncodeError if one has half of a surrogate pair."""
    return _joined_array([value.encode() for value in values], pa.large_string())


def _number_array(values: array[int] | array[float], number_type: pa.DataType) -> pa.Array:
    return pa.Array.from_buffers(number_type, len(values), [None, pa.py_buffer(values)])


def _joined_array(values: Sequence[bytes], value_type: pa.DataType) -> pa.Array:
    offsets = array("q", accumulate(map(len, values), initial=0))
    return pa.Array.from_buffers(value_type, len(values), [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(values))])
