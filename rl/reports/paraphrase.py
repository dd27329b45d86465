"""Support of a claim in other words: its figures and names stand in one passage, and most of its other words.

`support.py` asks for every word. Here words that only describe may be absent. Those that carry the claim may not:
figures, names, units, what is counted, and verbs that say something hard. Words of one class count as the same word.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal

from webemu.rl.reports import vocabulary as vocab
from webemu.rl.reports.passages import PageText, Passage, is_verb
from webemu.rl.reports.verb_classes import is_classified, is_hard, share_class
from webemu.rl.reports.words import Token, content, is_unit, matches_figure, stem

MAX_CANDIDATES = 12
"""Passages that a claim is compared with, those with most of its words first."""
_EVIDENCE = ((2, 0.6), (3, 0.7), (5, 0.75))
"""Number and share of the words of a claim that its passage must have: with its verbs, without one that has a
class, and without one that has none.
"""
MIN_DEMONYM = 4
MAX_ABSENT = 4
"""Words of a claim that its passage may lack."""
_ROUNDING = frozenset("about around roughly nearly almost approximately some over under circa ca approx than".split())
_MAX_ROUNDING = Decimal("0.03")
_VAGUE_COUNTED = frozenset(
    "people persons units copies pieces items times x dead deaths animals individuals specimens young".split()
)
_INNER = frozenset("a an the its his her their this that these those of all any each".split())
_TELLING = frozenset(
    "after because by as against despite with without for under to from due for like amid on of into in at".split()
)
"""Prepositions whose phrase says something of its own: one that has no word of the passage is not borne."""
_COMMON_ENDINGS = ("s", "ing", "put", "tion", "sion", "ment", "ance", "ence", "ity", "ture", "age", "ness")
"""Endings of nouns that stand without an article and are no names."""
_PLACING = frozenset("in at from of near to".split())
"""Prepositions before a place that only the title or dateline of the page names."""
_ANTONYMS = """
male female|man woman|first last|north south|east west|northern southern|eastern western|mother father|husband
wife|brother sister|son daughter|win lose|victory defeat|buy sell|rise fall|rise decline|rise drop|increase
decrease|grow shrink|oldest newest|old new|large small|largest smallest|long short|longest shortest|tall low|high
low|highest lowest|deep shallow|before after|cheap expensive|left right|public private|hot cold|warm cold|strong
weak|support oppose|accept reject|begin end|start end|open close|import export|birth death|bear die|true false|fast
slow|faster slower|light heavy|thin thick|soft hard|dry wet|rich poor|early late|earlier later|upper lower|front
rear|day night|summer winter|spring autumn|above below|inside outside|build demolish|found dissolve|raise cut|raise
reduce|rise cut|rise reduce|add remove|allow forbid|permit ban|soluble insoluble|legal illegal|guilty
innocent|majority minority|online offline|enable disable|attack defend|arrive leave|teach study|marry divorce|gain
lose|save destroy|adult juvenile|cause cure|safe dangerous|appoint dismiss|praise criticise|major minor|doubled
halved|eldest youngest|praise blame|admire dislike|like dislike|injure unhurt|oldest youngest|harmless
poisonous|harmless dangerous|harmless toxic|optional required|optional mandatory|slowly fast|slowly quickly|few
many|transparent opaque|convict clear|lowland highland|hired dismissed|mild severe|common rare|even odd|acid
base|single double
"""
_NO_SUPERLATIVES = frozenset(
    "harvest forest interest request protest conquest honest modest priest contest arrest invest suggest rainforest"
    " digest bequest disinterest inquest behest".split()
)
_SELL = stem("sell")
_OPPOSITES: dict[str, set[str]] = {}
for _pair in _ANTONYMS.split("|"):
    _first, _second = map(stem, _pair.split())
    if _first != _second:
        _OPPOSITES.setdefault(_first, set()).add(_second)
        _OPPOSITES.setdefault(_second, set()).add(_first)
_AT_LEAST, _AT_MOST = ("at least", "more than", "minimum"), ("at most", "less than", "fewer than", "up to", "maximum")
_FULL_FORMS = {
    short: tuple(frozenset(map(stem, words.split())) for words in full.split("|"))
    for short, full in {
        "eu": "european union|europe",
        "us": "american|united states",
        "usa": "american|united states",
        "uk": "british|united kingdom",
        "un": "united nations",
        "phd": "doctoral|doctorate",
        "ceo": "chief executive",
        "american": "us|usa|united states",
        "british": "uk|united kingdom",
    }.items()
}
"""Full forms of abbreviations of names, by stems."""


def find_paraphrased(tokens: Sequence[Token], page: PageText) -> Iterator[Passage]:
    """Yield the passages of a page that may say a claim in other words, those with most of its words first."""
    keys = {token.key for token in content(tokens)}
    counts = Counter(number for key in keys for number in page.places.get(key, ()))
    for number, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:MAX_CANDIDATES]:
        if _has_what_counts(tokens, page.windows[number], page):
            yield page.windows[number]


def _has_what_counts(tokens: Sequence[Token], window: Passage, page: PageText) -> bool:
    """True if a passage has all that carries a claim, and most of what describes."""
    absent, present, relation_count, strongest, anchors = set[int](), 0, 0, 0, 0
    keys = window.keys
    for position, token in enumerate(tokens):
        if not token.has_content:
            continue
        is_present = _stands(tokens, position, window, page, keys)
        if not is_present:
            if _is_required(tokens, position, page) or is_hard(token.key) or _is_superlative(token):
                return False
            strongest = max(strongest, _strength(tokens, position))
        absent |= set() if is_present else {position}
        present += is_present
        is_relation = not token.is_name and not token.is_figure and not is_unit(token) and token.key not in page.title
        is_anchor = token.is_figure or is_unit(token) or (token.is_name and token.key not in page.title)
        anchors += is_anchor
        relation_count += is_relation and is_present and token.key not in window.context - keys
    min_count, share = _EVIDENCE[strongest] if absent else (1, 0)
    is_most = len(absent) <= MAX_ABSENT and present >= max(min_count, share * (len(absent) + present))
    is_light = all(tokens[n].text in vocab.LIGHT_VERBS for n in absent)
    return (
        (relation_count > 0 or (anchors > 1 and is_light))
        and is_most
        and not _lacks_phrase(absent, tokens)
        and not _lacks_clause(absent, tokens)
        and not _lacks_cause(absent, tokens)
    )


def is_opposite(tokens: Sequence[Token], window: Passage) -> bool:
    """True if a passage has the opposite of a word of the claim, or of its "at least", and not the word itself."""
    keys, texts = window.keys, " ".join(token.text for token in window.tokens)
    for position, token in enumerate(tokens):
        if token.text == "sold" and (
            {"to", "for"} & _texts(tokens, position + 1) or vocab.BE_FORMS & _texts(tokens, position - 2)
        ):
            continue  # Who is sold to another is bought by it.
        opposites = _OPPOSITES.get(token.key, set()) if token.key not in keys else set()
        is_sold = token.text in ("sold", "sells")
        if opposites & keys and not token.is_negated and not (token.key == _SELL and not is_sold):
            return True
    claim_texts = " ".join(token.text for token in tokens)
    for comparators, opposite_ones in ((_AT_LEAST, _AT_MOST), (_AT_MOST, _AT_LEAST)):
        is_turned = _has_phrase(texts, opposite_ones) and not _has_phrase(texts, comparators)
        if is_turned and _has_phrase(claim_texts, comparators):
            return True
    return False


def _texts(tokens: Sequence[Token], start: int) -> set[str]:
    return {token.text for token in tokens[max(0, start) : start + 2]}


def _has_phrase(text: str, phrases: Sequence[str]) -> bool:
    return any(f" {phrase} " in f" {text} " for phrase in phrases)


def _lacks_phrase(absent: set[int], tokens: Sequence[Token]) -> bool:
    """True if a phrase behind a telling preposition has words with content, and all of them are absent."""
    for position, token in enumerate(tokens):
        is_degree = token.text == "as" and any(other.text == "as" for other in tokens[position + 2 : position + 3])
        if token.text not in _TELLING or is_degree:
            continue
        words = list(_phrase_words(tokens, position))
        if words and all(n in absent for n in words):
            return True
    return False


def _lacks_cause(absent: set[int], tokens: Sequence[Token]) -> bool:
    """True if a word of the cause that a claim gives is absent: invented causes use the words of the page."""
    causes = (
        n
        for n, token in enumerate(tokens[:-1])
        if token.text == "because" and tokens[n + 1].text != "of"  # A phrase may be worded in another way.
    )
    start = next(causes, len(tokens))
    return any(n > start and tokens[n].text not in vocab.LIGHT_VERBS for n in absent)


def _lacks_clause(absent: set[int], tokens: Sequence[Token]) -> bool:
    """True if a clause has words with content, and all of them are absent or verbs that say little."""
    present, count = 0, 0
    for position, token in enumerate(tokens):
        if token.is_break:
            if count and not present:
                return True
            present, count = 0, 0
        elif token.has_content and token.text not in vocab.LIGHT_VERBS:
            present, count = present + (position not in absent), count + 1
    return bool(count and not present)


def _phrase_words(tokens: Sequence[Token], position: int) -> Iterator[int]:
    for n in range(position + 1, len(tokens)):
        is_end = tokens[n].is_break or (tokens[n].text in vocab.FUNCTION_WORDS and tokens[n].text not in _INNER)
        if is_end:
            return
        if tokens[n].has_content:
            yield n


def _stands(tokens: Sequence[Token], position: int, window: Passage, page: PageText, keys: frozenset[str]) -> bool:
    token = tokens[position]
    if token.is_figure:
        is_rounded = any(other.text in _ROUNDING for other in tokens[max(0, position - 3) : position])
        return (
            any(
                matches_figure(token, other) or (is_rounded and _rounds_to(token, other))
                for other in window.tokens
                if other.is_figure
            )
            or _is_of_setting(token, window, page)
            or _is_span(tokens, position, page)
        )
    if token.key in keys or token.key in window.context or token.key in page.title:
        return True
    if token.is_name and (_is_known_first_name(tokens, position, page, keys) or _is_demonym(token, keys)):
        return True
    if token.is_name:
        is_placed = any(other.text in _PLACING for other in tokens[max(0, position - 3) : position])
        is_placed = is_placed or _is_modifier(tokens, position)
        return (is_placed and any(token.key == other.key for other in page.setting)) or any(
            full <= keys | page.title for full in _FULL_FORMS.get(token.text, ())
        )
    return share_class(token.key, keys | page.title)


def _is_modifier(tokens: Sequence[Token], position: int) -> bool:
    """True for the name in "the Dolna hatchery"."""
    following = tokens[position + 1] if position + 1 < len(tokens) else None
    return bool(following and following.has_content and not following.is_name and not is_verb(tokens, position + 1))


def _is_span(tokens: Sequence[Token], position: int, page: PageText) -> bool:
    """True for the number in "five years later" if two years of the page lie so far apart."""
    following = {token.text for token in tokens[position + 1 : position + 4]}
    if tokens[position].kind != "number" or not following & {"year", "years"} or not tokens[position].key.isdigit():
        return False
    span = int(tokens[position].key)
    is_relative = bool(following & {"later", "earlier", "after", "before"})
    return is_relative and any(year + span in page.years for year in page.years)


def _is_demonym(token: Token, keys: frozenset[str]) -> bool:
    """True if a name and one of the passage are those of a country and its people: Italy, Italian."""
    if len(token.text) < MIN_DEMONYM:
        return False
    same_beginning = [key for key in keys if key.startswith(token.text[:MIN_DEMONYM])]
    return bool(same_beginning) and ("ian" in token.text or any("ian" in key for key in same_beginning))


def _is_known_first_name(tokens: Sequence[Token], position: int, page: PageText, keys: frozenset[str]) -> bool:
    """True if the last name behind it stands in the passage, and has no other first name on the page."""
    last = tokens[position + 1].key if position + 1 < len(tokens) and tokens[position + 1].is_name else ""
    firsts = {first for first, second in page.full_names if second == last and first in page.names}
    return last in keys and (tokens[position].key, last) in page.full_names and firsts <= {tokens[position].key}


def _is_of_setting(token: Token, window: Passage, page: PageText) -> bool:
    """True if a figure is that of the page's title or dateline, or a date of the passage in the year of these."""
    figures = [other for other in page.setting if other.is_figure]
    if any(matches_figure(token, other) for other in figures):
        return True
    years = {other.key[:4] for other in figures if other.kind == "date" or len(other.key) == 4}
    days = {other.key[4:] for other in window.tokens if other.kind == "date" and other.key.startswith("????")}
    return token.kind == "date" and token.key[:4] in years and token.key[4:] in days


def _rounds_to(token: Token, other: Token) -> bool:
    """True if a number is near that of the page."""
    if token.kind != "number" or other.kind != "number":
        return False
    first, second = Decimal(token.key), Decimal(other.key)
    return second != 0 and abs(first - second) <= _MAX_ROUNDING * abs(second)


def _is_required(tokens: Sequence[Token], position: int, page: PageText) -> bool:
    """True if a claim says something else without this word: figures, names, units, what is counted."""
    token = tokens[position]
    if token.is_figure or token.is_name or is_unit(token) or _is_bare_subject(tokens, position, page):
        return True
    is_vague = token.text in _VAGUE_COUNTED or token.key in page.definition
    return position > 0 and tokens[position - 1].is_figure and not is_vague


def _is_bare_subject(tokens: Sequence[Token], position: int, page: PageText) -> bool:
    """True for a first word that is a name as far as can be seen: known as one, or singular without an article."""
    token = tokens[position]
    if any(other.has_content for other in tokens[:position]) or position + 1 >= len(tokens):
        return False
    is_single = position == 0 and is_verb(tokens, 1) and not token.text.endswith(_COMMON_ENDINGS) and len(tokens) > 3
    is_noun = token.text in vocab.TOPIC_WORDS | vocab.GENERIC_NOUNS or is_classified(token.key)
    return (token.key in page.names and position == 0) or (is_single and not is_noun)


def _is_superlative(token: Token) -> bool:
    """True for "eldest" and the like, which change all of what a claim says."""
    return len(token.text) > 5 and token.text.endswith("est") and token.text not in _NO_SUPERLATIVES


def _strength(tokens: Sequence[Token], position: int) -> int:
    """Return how much else a passage must have if it lacks this word: more for verbs, most for those of no class."""
    token = tokens[position]
    following = tokens[position + 1].text if position + 1 < len(tokens) else ""
    is_between = position > 0 and tokens[position - 1].is_name and following in vocab.DETERMINERS
    if not (is_verb(tokens, position) or is_between) or token.text in vocab.LIGHT_VERBS:
        return 0
    return 1 if is_classified(token.key) else 2
