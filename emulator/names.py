"""What looks like a name in a query: capitalised words side by side, `Tim Berners-Lee`, `University of Oxford`.

A guess that only helps to rank: scripts without capitals have none, and capitals everywhere tell nothing.
"""

from __future__ import annotations

MAX_NAMES = 4
MAX_WORDS = 6
_INSIDE = frozenset("of the and & de da do dos del della di du des la le el al bin ibn van von der den zu y e".split())
"""Small words that stand between capitalised ones."""
_FIRST = frozenset(
    "a an the in on at of for by from to is are was were do does did can could will would should has have had "
    "who whom whose what which when where why how and or if name list find tell give i".split()
)
"""Words that are capitalised because a sentence begins with them."""
_MARKS = ".,;:?!()[]'\""


def names(text: str) -> tuple[str, ...]:
    """Each of two words at least, in the order typed."""
    if text.islower() or text.isupper():
        return ()
    found: dict[str, None] = {}
    run: list[str] = []
    for word in [*text.split(), ""]:
        plain = word.strip(_MARKS)
        bare = plain.removesuffix("'s").removesuffix("’s")
        if bare[:1].isupper() or (run and (bare in _INSIDE or bare.isdigit())):
            run.append(bare)
            if word.endswith(plain) and plain == bare:
                continue
        if name := _trimmed(run):
            found[name] = None
        run = []
    return tuple(found)[:MAX_NAMES]


def _trimmed(run: list[str]) -> str:
    """The run without the small words around it; empty where fewer than two are left."""
    first, last = 0, len(run)
    while first < last and run[first].lower() in _FIRST:
        first += 1
    while last > first and run[last - 1] in _INSIDE:
        last -= 1
    return " ".join(run[first:last][:MAX_WORDS]) if last - first > 1 else ""
