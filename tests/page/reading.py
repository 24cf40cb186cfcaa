"""A page as a reader's program sees it: elements, attributes, the text of cells."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = ("meta", "img", "link", "br", "input")


@dataclass
class Element:
    name: str
    attributes: dict[str, str]
    children: "list[Element | str]" = field(default_factory=list)

    def walk(self) -> "Iterator[Element]":
        yield self
        for child in self.children:
            if isinstance(child, Element):
                yield from child.walk()

    def all(self, name: str, **attributes: str) -> "list[Element]":
        wanted = {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items()}
        return [
            element
            for element in self.walk()
            if element.name == name
            and all(element.attributes.get(key) == value for key, value in wanted.items())
        ]

    def one(self, name: str, **attributes: str) -> "Element":
        (found,) = self.all(name, **attributes)
        return found

    @property
    def text(self) -> str:
        return "".join(c if isinstance(c, str) else c.text for c in self.children)

    def facts(self) -> dict[str, str]:
        """Terms and their descriptions."""
        names, values = ([each.text for each in self.all(name)] for name in ("dt", "dd"))
        return dict(zip(names, values, strict=True))

    def rows(self) -> list[list[str]]:
        """The body of a table, cell by cell."""
        bodies = self.all("tbody")
        return [
            [cell.text for cell in tr.children if isinstance(cell, Element)]
            for body in bodies
            for tr in body.all("tr")
        ]


class Reader(HTMLParser):
    """Strict: every element that opens has to close, in order."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("", {})
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"<{tag}> repeats an attribute: {names}"
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag: str) -> None:
        last = self.open.pop()
        assert last.name == tag, f"<{last.name}> is closed by </{tag}>"

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def read(page: str) -> Element:
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == [reader.root]
    return reader.root
