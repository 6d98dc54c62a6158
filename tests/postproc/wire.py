"""A parser of Protocol Buffers for the tests of exports."""
import collections


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value, shift, at = value | (byte & 0x7f) << shift, shift + 7, at + 1
        if byte < 0x80:
            return value, at


def numbers(data):
    """Returns the numbers of a packed field."""
    at, out = 0, []
    while at < len(data):
        value, at = varint(data, at)
        out.append(value)
    return out


def fields(data):
    """Yields (field, value) of a message. A value is a number, or bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        value, at = varint(data, at)
        if key & 7 not in (0, 2):
            raise ValueError(f"wire type {key & 7}")
        if key & 7 == 2:
            if at + value > len(data):
                raise ValueError("a length beyond the message")
            value, at = data[at:at + value], at + value
        yield key >> 3, value


def message(data):
    """Returns the values of each field."""
    out = collections.defaultdict(list)
    for field, value in fields(data):
        out[field].append(value)
    return out
