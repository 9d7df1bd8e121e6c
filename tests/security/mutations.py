"""Changes files at random: bytes of any file, and values of JSON data."""

import copy
import json

#: What stands in the place of a value: other types, and numbers at the edges.
ODD = (
    *(None, True, False, "", "x", [], {}, [[]], {"a": 1}, [None], ["x"]),
    *(0, -1, 1, 2**31, 2**63, 10**18, 10**300, 10**400, -(10**18)),
    *(0.5, -0.0, 1e-320, 1e308, -1e308, float("nan"), float("inf"), -float("inf")),
)


def mutated_bytes(content, rng):
    """The content with some bytes flipped, cut, doubled, cleared or put in."""
    changed = bytearray(content)
    for _ in range(rng.integers(1, 4)):
        if not changed:
            break
        begin = int(rng.integers(len(changed)))
        end = begin + int(rng.integers(1, 64))
        match int(rng.integers(6)):
            case 0:
                changed[begin] ^= 1 << int(rng.integers(8))
            case 1:
                changed[begin] = int(rng.integers(256))
            case 2:
                del changed[begin:]
            case 3:
                changed[begin:begin] = changed[begin:end]
            case 4:
                changed[begin:end] = bytes(len(changed[begin:end]))
            case 5:
                changed[begin:end] = rng.bytes(end - begin)
    return bytes(changed)


def mutated_json(data, rng):
    """The data with a value replaced, left out or doubled, anywhere inside."""
    data = copy.deepcopy(data)
    places = list(_places(data))
    container, key = places[int(rng.integers(len(places)))]
    match int(rng.integers(4)):
        case 0:
            del container[key]
        case 1 if isinstance(container, list):
            container.append(container[key])
        case _:
            container[key] = ODD[int(rng.integers(len(ODD)))]
    return data


def mutated_text(text, rng):
    """A JSON text with a value changed; numbers that are not finite as Python writes them."""
    changed = mutated_json([json.loads(text)], rng)
    return json.dumps(changed[0] if changed else None)


def _places(data):
    keys = data if isinstance(data, dict) else range(len(data))
    for key in keys:
        yield data, key
        if isinstance(data[key], dict | list):
            yield from _places(data[key])
