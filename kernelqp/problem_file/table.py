"""One table of a problem file; it knows the file and its own name, so a complaint can say both."""

from __future__ import annotations

import contextlib
import difflib
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kernelqp.errors import InputError, ProblemFileError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

TEXT, NUMBER, INTEGER = "a text", "a number", "an integer"
BOOLEAN, LIST, TABLE = "true or false", "a list", "a table"


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A table of a TOML file.

    Parameters
    ----------
    file : str
        The file, as messages show it.
    name : str
        The table, as messages show it: "[data]", or "the top level".
    values : mapping of str to value
        As `tomllib` reads it.
    """

    file: str
    name: str
    values: Mapping[str, Any]

    def error(self, message: str) -> ProblemFileError:
        """Return the complaint about this table, to be raised."""
        return ProblemFileError(f"{self.file}: {self.name} {message}")

    def allow(self, known: Iterable[str]) -> None:
        """Raise ProblemFileError if the table has a key that is not known."""
        known = tuple(known)
        for key in self.values:
            if key not in known:
                raise self.error(f"has the unknown key {key!r}: {remedy(key, known)}")

    def get(self, key: str, kind: str, default: Any = None) -> Any:
        """Return a value of the kind wanted, or the default where the key is absent.

        Raises
        ------
        ProblemFileError
            If the value is of another kind; a number is never true, false or nan.
        """
        if key not in self.values:
            return default
        value = self.values[key]
        if not is_kind(value, kind):
            raise self.error(f"{key} must be {kind}; got {shorten(value)}: correct the value")
        return value

    def need(self, key: str, kind: str, example: str) -> Any:
        """Return a value that must be there; the example says how to write it."""
        if key not in self.values:
            raise self.error(f"lacks {key}, {kind}: add for instance  {example}")
        return self.get(key, kind)

    def table(self, key: str, example: str) -> Table:
        """Return a table inside this one that must be there."""
        return Table(self.file, f"[{key}]", self.need(key, TABLE, example))

    def blamed(self, about: str = "") -> contextlib.AbstractContextManager[None]:
        """Blame the package's complaints about the input on this table; see `blamed_on`."""
        return blamed_on(f"{self.file}: {self.name} {about}")


@contextlib.contextmanager
def blamed_on(where: str) -> Iterator[None]:
    """Raise what the package says of the input as a ProblemFileError, with the place in front."""
    try:
        yield
    except InputError as error:
        raise ProblemFileError(f"{where}{error}") from error


def is_kind(value: Any, kind: str) -> bool:
    """Whether a TOML value is of a kind."""
    if kind == NUMBER:
        return isinstance(value, int | float) and not isinstance(value, bool) and value == value  # noqa: PLR0124
    if kind == INTEGER:
        return isinstance(value, int) and not isinstance(value, bool)
    types: dict[str, type] = {TEXT: str, BOOLEAN: bool, LIST: list, TABLE: dict}
    return isinstance(value, types[kind])


def is_numbers(value: Any) -> bool:
    """Whether a TOML value is a list of finite numbers."""
    return isinstance(value, list) and all(is_kind(v, NUMBER) and math.isfinite(v) for v in value)


def remedy(name: object, known: Iterable[str]) -> str:
    """Return what to write instead: the nearest known name, and all of them."""
    known = tuple(known)
    close = difflib.get_close_matches(str(name).lower(), [k.lower() for k in known], n=1)
    near = [k for k in known if close and k.lower() == close[0]]
    hint = f"did you mean {near[0]!r}?" if near else "use one that is known."
    return f"{hint} Known: {', '.join(known)}"


def shorten(value: Any, width: int = 60) -> str:
    """Return a value as a message can show it."""
    text = repr(value)
    return text if len(text) <= width else text[: width - 3] + "..."
