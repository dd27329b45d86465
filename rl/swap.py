"""Replacement of words in all that the web says, to test whether an agent reads its sources (`webemu.rl.probe`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from webemu.rl.views import OpenPage


@dataclass(frozen=True, slots=True)
class WordSwap:
    """Mapping from words to their replacements. Only whole words are replaced, ignoring case, the longest first. URLs
    stay as they are, so that links keep working.
    """

    words: Mapping[str, str] = field(default_factory=dict)

    def swap_in_results(self, text: str) -> str:
        """Return a list of results with the words replaced; lines that contain a URL stay as they are."""
        return "\n".join(line if "://" in line else self.replace_words(line) for line in text.split("\n"))

    def swap_in_page(self, page: OpenPage) -> OpenPage:
        """Return a page with the words replaced in its title and text."""
        return replace(page, title=self.replace_words(page.title), text=self.replace_words(page.text))

    def replace_words(self, text: str) -> str:
        """Return a text with the words replaced, in URLs too."""
        if not self.words:
            return text
        replacements = {word.casefold(): other for word, other in self.words.items()}
        longest = sorted(map(re.escape, self.words), key=len, reverse=True)
        pattern = rf"(?<!\w)(?:{'|'.join(longest)})(?!\w)"
        return re.sub(pattern, lambda m: replacements.get(m[0].casefold(), m[0]), text, flags=re.IGNORECASE)
