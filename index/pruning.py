"""Prunes markup to what a text view has: menus, teasers and buttons go, whatever elements they are made of.

`webemu.index.content` decides by its own rules what the content of a page is, and returns it as text. Here the words
of that text are located in the document, so that markdown shows the same content with its headings, links and tables.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from selectolax.lexbor import LexborNode

from webemu.index.content import visible_size

MAX_TEXT = 1 << 20
"""Longest text in characters whose words are compared; for a longer one nothing is pruned, since it takes too long."""
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(f"[{_UNSPACED}]|[^\\W{_UNSPACED}]+")
"""A word; in scripts without spaces, a character."""
_RUN = re.compile(r"\w+")
_TARGET = re.compile(
    r"\]\((?:<[^<>\n]{0,4000}+>|[^()\s]{0,4000}+(?:\([^()\s]{0,1000}+\)[^()\s]{0,1000}+){0,9}+)"
    r'(?:\s"(?:[^"\\\n]|\\.){0,1000}+")?+\)'
)
_INLINE = frozenset(
    "b i em strong span font u s small big sub sup code kbd var samp tt mark abbr acronym cite q time data bdi bdo "
    "ruby rb rt rp ins del strike nobr label td th tbody thead tfoot figure figcaption picture body".split()
)
"""Elements that are never removed alone: pieces of sentences, and cells whose loss would shift those after them."""
_MAX_SIZE_RATIO = 1.05
"""Document characters per text character up to which nothing is pruned."""
_MARK_TAGS = "a, b, strong, i, em, u, s, strike, del, ins, mark, code, kbd, samp, q, sub, sup"
_MAX_ACCIDENTAL_WORDS = 3
"""Words outside links that a list of links may share with the text by accident."""


def split_words(text: str) -> list[str]:
    """Return the words of a text in their order."""
    return _WORD.findall(text)


def measure_recall(markdown: str, text: str) -> float:
    """Return the share of a text's words that its markdown has, counting repetitions. Link targets do not count.

    Words are runs of letters and digits here, as a reader who compares the views would count them. For texts of more
    than MAX_TEXT characters, characters are counted instead of words.
    """
    if 2 * visible_size(markdown) < visible_size(text):
        return 0.0
    bare = _TARGET.sub("]", markdown)
    if len(text) > MAX_TEXT:
        return visible_size(bare) / visible_size(text)
    words, rendered = Counter(_RUN.findall(text)), Counter(_RUN.findall(bare))
    return (words & rendered).total() / words.total() if words else 1.0


@dataclass(slots=True)
class _Element:
    """An open element with the word counts of what was read in it so far."""

    node: LexborNode
    tag: str | None
    is_link: bool
    removed_before: int
    """Number of removed nodes before it."""
    total: int = 0
    linked: int = 0
    covered: int = 0
    covered_prose: int = 0

    def add_words(self, words: int, is_covered: bool) -> None:
        """Count words of a text node directly inside the element."""
        self.total += words
        if self.is_link:
            self.linked += words
        if is_covered:
            self.covered += words
            self.covered_prose += 0 if self.is_link else words

    def add_child(self, child: _Element) -> None:
        """Add the counts of a child element that has ended."""
        self.total += child.total
        self.linked += child.linked
        self.covered += child.covered
        self.covered_prose += child.covered_prose

    @property
    def is_foreign(self) -> bool:
        """True if the text has nothing of it, or if it is a list of links of which the text has little."""
        if self.tag in _INLINE:
            return False
        if not self.covered:
            return True
        is_menu = 2 * self.linked > self.total and self.covered_prose <= _MAX_ACCIDENTAL_WORDS
        return is_menu and 2 * self.covered < self.total


def prune(root: LexborNode, text: str) -> None:
    """Remove the elements below `root` that the text has nothing of, if the text is much shorter than the document."""
    if len(text) > MAX_TEXT or visible_size(root.text()) <= _MAX_SIZE_RATIO * visible_size(text):
        return
    words = split_words(text)
    # Single words decide for short texts, triples for longer ones: menus share words with the text, but not phrases.
    for node in _find_foreign(root, {*words, *zip(words, words[1:], words[2:], strict=False)}):
        node.decompose()


def unglue(root: LexborNode) -> None:
    """Unwrap links and emphasis that begin or end inside a word, as they do between the words of unspaced scripts.

    Markdown's marks would split such words. Elements that stand alone or between blanks keep their mark.
    """
    for node in reversed(root.css(_MARK_TAGS)):
        text = node.text()
        if _joins_word(_neighbour_text(node.prev)[-1:], text[:1]) or _joins_word(
            text[-1:], _neighbour_text(node.next)[:1]
        ):
            node.unwrap()


def _neighbour_text(node: LexborNode | None) -> str:
    """Return the text of a neighbouring node if it is text or inline; else an empty string."""
    if node is None:
        return ""
    return (
        node.text_content or ""
        if node.tag == "-text"
        else node.text()
        if node.tag in _INLINE or node.tag == "a"
        else ""
    )


def _joins_word(first: str, second: str) -> bool:
    """True if two characters are parts of one word."""
    return bool(_RUN.match(first) and _RUN.match(second))


def _find_foreign(root: LexborNode, sequences: set[str | tuple[str, ...]]) -> list[LexborNode]:
    """Return the outermost elements that a text has nothing of, given its words and triples of words."""
    foreign: list[LexborNode] = []
    elements = [_Element(root, root.tag, False, 0)]
    for node, tag, is_end in _walk(root):
        if is_end:
            element = elements.pop()
            if element.total and element.is_foreign:
                # Nodes that are removed with their parent must not be touched again.
                del foreign[element.removed_before :]
                foreign.append(element.node)
            elements[-1].add_child(element)
        elif tag != "-text":
            elements.append(_Element(node, tag, tag == "a" or elements[-1].is_link, len(foreign)))
        elif words := split_words(node.text_content or ""):
            elements[-1].add_words(len(words), _is_covered(sequences, words))
    return foreign


def _is_covered(sequences: set[str | tuple[str, ...]], words: list[str]) -> bool:
    """True if the text has the middle three of the words in sequence. Inline markup may cut the outer words."""
    if len(words) < 3:
        return sequences.issuperset(words)
    middle = (len(words) - 3) // 2
    return tuple(words[middle : middle + 3]) in sequences


def _walk(root: LexborNode) -> Iterator[tuple[LexborNode, str | None, bool]]:
    """Yield (node, tag, is end) of elements and texts below `root` in order; an element comes again at its end."""
    parents = [root]
    node = root.first_child
    # Iterative: hostile documents nest deeper than Python's stack.
    while True:
        if node is None:
            node = parents.pop()
            if not parents:
                return
            yield node, None, True
            node = node.next
            continue
        tag = node.tag
        if tag == "-text":
            yield node, tag, False
            node = node.next
        elif node.is_element_node:
            yield node, tag, False
            parents.append(node)
            node = node.first_child
        else:
            node = node.next
