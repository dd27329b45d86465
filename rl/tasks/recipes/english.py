"""Small rules of English for questions: verbs, articles, plurals, lists, and a choice of phrasing that a seed decides.

The verbs are a table and not a grammar: a sentence with another verb makes no question.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

_PAST_TO_BASE = """
acquired:acquire adopted:adopt announced:announce appointed:appoint approved:approve attracted:attract bought:buy
became:become began:begin broke:break brought:bring built:build carried:carry caused:cause collected:collect
completed:complete contained:contain contributed:contribute cost:cost covered:cover created:create cut:cut
delivered:deliver described:describe designed:design developed:develop directed:direct discovered:discover
donated:donate drew:draw earned:earn elected:elect employed:employ ended:end entered:enter established:establish
exceeded:exceed faced:face featured:feature fell:fall filed:file fired:fire formed:form founded:found gained:gain
gathered:gather gave:give generated:generate got:get graduated:graduate grew:grow had:have held:hold hired:hire
hosted:host identified:identify included:include increased:increase injured:injure interviewed:interview
introduced:introduce invested:invest issued:issue joined:join killed:kill launched:launch learned:learn led:lead
left:leave lost:lose made:make married:marry met:meet moved:move named:name needed:need offered:offer opened:open
operated:operate ordered:order organized:organize owned:own paid:pay passed:pass planned:plan played:play
posted:post prepared:prepare presented:present produced:produce provided:provide published:publish raised:raise
ran:run reached:reach received:receive recorded:record released:release removed:remove replaced:replace
reported:report represented:represent required:require rose:rise saw:see scanned:scan scored:score sent:send
served:serve set:set settled:settle shared:share shot:shoot signed:sign sold:sell spent:spend started:start
stopped:stop stored:store studied:study supported:support surveyed:survey taught:teach took:take tested:test
totaled:total tracked:track trained:train used:use visited:visit wanted:want won:win worked:work wrote:write
"""
BASE_OF_PAST = dict(pair.split(":") for pair in _PAST_TO_BASE.split())
"""Base form of a verb by its past form."""
_THIRD_PERSON = """
accepts:accept allows:allow attracts:attract consists:consist contains:contain costs:cost covers:cover employs:employ
features:feature gets:get gives:give has:have holds:hold hosts:host includes:include lists:list maintains:maintain
makes:make needs:need offers:offer operates:operate owns:own pays:pay plays:play produces:produce provides:provide
publishes:publish receives:receive represents:represent requires:require runs:run serves:serve spans:span
stores:store supports:support takes:take teaches:teach uses:use weighs:weigh
"""
BASE_OF_THIRD = dict(pair.split(":") for pair in _THIRD_PERSON.split())
"""Base form of a verb by its third person singular."""
BASES = frozenset(BASE_OF_THIRD.values())
"""Base forms that may stand after a plural subject."""
FINITE = "|".join(sorted({*BASE_OF_PAST, *BASE_OF_THIRD, *BASES}, key=len, reverse=True))
"""Pattern of all finite forms in the tables."""
_THIRD_OF_BASE = {"do": "does", "go": "goes", "have": "has", "be": "is"}


def choose(options: Sequence[str], *about: str) -> str:
    """Return one of the options; the same texts always give the same one.

    choose(("Who wrote {}?", "Who is the author of {}?"), "7", "Hamlet")
    """
    digest = blake2b("\x1f".join(about).encode(), digest_size=8).digest()
    return options[int.from_bytes(digest, "big") % len(options)]


def split_verb(verb: str) -> tuple[str, str]:
    """Return the auxiliary and the base form that a question has in place of a finite verb."""
    if verb in BASE_OF_PAST:
        return "did", BASE_OF_PAST[verb]
    return ("does", BASE_OF_THIRD[verb]) if verb in BASE_OF_THIRD else ("do", verb)


def third_person(verb: str) -> str:
    """Return the third person singular of a base form: `compute` gives `computes`."""
    if verb in _THIRD_OF_BASE:
        return _THIRD_OF_BASE[verb]
    if verb.endswith(("s", "sh", "ch", "x", "z", "o")):
        return f"{verb}es"
    return f"{verb[:-1]}ies" if verb.endswith("y") and verb[-2:-1] not in "aeiou" else f"{verb}s"


def with_article(noun: str) -> str:
    """Return the noun with "a" or "an"."""
    word = noun.lower()
    takes_an = word[:1] in "aeiou" and not word.startswith(("uni", "use", "usi", "eu", "one"))
    return f"{'an' if takes_an else 'a'} {noun}"


def plural(noun: str) -> str:
    """Return the plural of a regular noun. A noun that already ends in "s" stays."""
    if noun.endswith(("ss", "x", "ch", "sh")):
        return f"{noun}es"
    if noun.endswith("s"):
        return noun
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}s"


def join_list(parts: Sequence[str], conjunction: str = "and") -> str:
    """Return the parts as a list: `a, b and c`."""
    return f" {conjunction} ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))


def lower_first(text: str) -> str:
    """Return the text with its first letter in lower case, unless its first word is an acronym or a name in camel
    case.
    """
    word = text.partition(" ")[0]
    return text if any(letter.isupper() for letter in word[1:]) else text[:1].lower() + text[1:]


def upper_first(text: str) -> str:
    """Return the text with its first letter as a capital."""
    return text[:1].upper() + text[1:]
