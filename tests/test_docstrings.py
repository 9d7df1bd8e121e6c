"""What docstrings say of arguments, read for the listings."""

from sdmbtl.docstrings import read_arguments


class Google:
    """Does something: with words.

    Args:
        first: What comes first, for example
            {"a": 1}, over two lines.
        second: Another one.
            note: not an argument of its own.
        **more: Of `Others`.

    Attributes:
        third: Kept.

    Raises:
        ValueError: If it is none.
    """


class Sphinx:
    """
    Does something.

    :param first: What comes first,
        over two lines
    :param second: Another one

    Text that belongs to none.
    """


def test_google():
    assert read_arguments(Google) == {
        "first": 'What comes first, for example {"a": 1}, over two lines.',
        "second": "Another one. note: not an argument of its own.",
        "more": "Of `Others`.",
        "third": "Kept.",
    }


def test_sphinx():
    assert read_arguments(Sphinx) == {
        "first": "What comes first, over two lines",
        "second": "Another one",
    }
