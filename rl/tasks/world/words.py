"""Words for the facts of the invented world: noun phrases that lead from one entity to the next, and questions.

A template that ends with its slot may be put into any other. Of templates that go on after the slot (`the town where
{X} was born`) a phrase should hold only one, or nobody could read it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from webemu.rl.tasks.graph import Entity, Fact
from webemu.rl.tasks.task import AnswerType


@dataclass(frozen=True, slots=True)
class RelationPhrases:
    """Templates for one relation of one kind; `{X}` is the subject, `{Y}` the year of a series, `{K}` the object's
    kind.
    """

    noun_phrases: tuple[str, ...]
    """Noun phrases that name the object by the subject; empty if the object is not an entity."""
    questions: tuple[str, ...]
    """Questions for the object."""
    answer_type: AnswerType
    """Type of the answer to those questions."""


class Phrase(NamedTuple):
    """A noun phrase for an entity."""

    text: str
    has_trailing_words: bool = False
    """True if words follow the entity that the phrase is built on, as in `the town where X was born`."""


def _parse_phrases(table: str) -> dict[tuple[str, str], RelationPhrases]:
    """Parse the table of phrases: a line `kind relation answer-type`, then lines of noun phrases (=) and questions
    (?).
    """
    phrases: dict[tuple[str, str], RelationPhrases] = {}
    for entry in re.split(r"\n(?=\S)", table.strip()):
        head, *lines = entry.split("\n")
        kind, relation, answer_type = head.split()
        noun_phrases, questions = (tuple(line[4:] for line in lines if line[2] == marker) for marker in "=?")
        phrases[kind, relation] = RelationPhrases(noun_phrases, questions, answer_type)  # type: ignore[arg-type]
    return phrases


RELATION_PHRASES = _parse_phrases("""
town in_country name
  = the country of {X}
  ? In which country is {X}?
town in_region name
  = the region of {X}
  = the region in which {X} lies
  ? In which region is {X}?
  ? Which region does {X} lie in?
town on_river name
  = the river that flows through {X}
  ? Which river flows through {X}?
  ? On which river does {X} stand?
town mayor name
  = the mayor of {X}
  ? Who is the mayor of {X}?
  ? What is the name of the mayor of {X}?
town previous_mayor name
  = the previous mayor of {X}
  ? Who was the previous mayor of {X}?
  ? Who preceded the present mayor of {X}?
town population number
  ? What is the population of {X}?
  ? How many people live in {X}?
  ? How many inhabitants does {X} have?
town area number
  ? How large is {X}, in square kilometres?
  ? What is the area in square kilometres of {X}?
  ? How many square kilometres does the municipality of {X} cover?
town first_mentioned number
  ? In which year was {X} first mentioned?
  ? What is the year of the first mention of {X}?
town mayor_since number
  ? Since which year has {X} had its present mayor?
  ? Since what year has the present mayor been in office in {X}?
person born_in name
  = the town where {X} was born
  = the birthplace of {X}
  ? In which town was {X} born?
  ? What is the birthplace of {X}?
person born_on date
  ? On what date was {X} born?
  ? What is the date of birth of {X}?
person died_in_year number
  ? In which year did {X} die?
  ? What is the year of death of {X}?
person educated_at name
  = the university where {X} studied
  = the alma mater of {X}
  ? At which university did {X} study?
  ? What is the alma mater of {X}?
person employer name
  = the employer of {X}
  ? Who is the employer of {X}?
  ? For whom does {X} work?
company founded_by name
  = the founder of {X}
  = the person who founded {X}
  ? Who founded {X}?
  ? Who is the founder of {X}?
company headquartered_in name
  = the town where {X} is headquartered
  = the town that houses the headquarters of {X}
  ? In which town is {X} headquartered?
  ? Which town houses the headquarters of {X}?
company founded_in_year number
  ? In which year was {X} founded?
  ? What is the founding year of {X}?
company employees number
  ? How many people does {X} employ?
  ? What is the number of employees of {X}?
company industry name
  ? In which industry is {X}?
  ? What is the industry of {X}?
product made_by name
  = the company that makes {X}
  = the maker of {X}
  ? Which company makes {X}?
  ? Who is the manufacturer of {X}?
product introduced_in_year number
  ? In which year was {X} introduced?
  ? What is the year of introduction of {X}?
novel author name
  = the author of {X}
  = the person who wrote {X}
  ? Who wrote {X}?
  ? Who is the author of {X}?
novel published_in_year number
  ? In which year was {X} published?
  ? What is the year of publication of {X}?
novel publisher name
  ? Which house published {X}?
  ? Who is the publisher of {X}?
novel set_in name
  = the town in which {X} is set
  = the setting of {X}
  ? In which town is {X} set?
  ? What is the setting of {X}?
film director name
  = the director of {X}
  = the person who directed {X}
  ? Who directed {X}?
  ? Who is the director of {X}?
film released_in_year number
  ? In which year was {X} released?
  ? What is the year of release of {X}?
film studio name
  ? Which studio produced {X}?
  ? Which studio is behind {X}?
film set_in name
  = the town in which {X} is set
  = the setting of {X}
  ? In which town is {X} set?
  ? What is the setting of {X}?
prize awarded_in name
  = the town where {X} is awarded
  = the town that hosts the ceremony of {X}
  ? In which town is {X} awarded?
  ? Which town hosts the ceremony of {X}?
prize established_in_year number
  ? In which year was {X} established?
  ? What is the year of establishment of {X}?
landmark stands_in name
  = the town where {X} stands
  = the home town of {X}
  ? In which town does {X} stand?
  ? Which town is home to {X}?
landmark opened_on date
  ? On what date was {X} opened?
  ? What is the opening date of {X}?
landmark architect name
  = the architect of {X}
  = the person who designed {X}
  ? Who designed {X}?
  ? Who is the architect of {X}?
festival held_in name
  = the host town of {X}
  = the town where {X} is held
  ? In which town is {X} held?
  ? Which town hosts {X}?
festival first_held_in_year number
  ? In which year was {X} first held?
  ? What is the year of the first edition of {X}?
university located_in name
  = the town of {X}
  ? In which town is {X}?
university established_in_year number
  ? In which year was {X} established?
  ? What is the year of establishment of {X}?
university rector name
  = the rector of {X}
  ? Who is the rector of {X}?
  ? What is the name of the rector of {X}?
university students number
  ? How many students does {X} have?
  ? What is the number of students of {X}?
river in_country name
  = the country of {X}
  ? In which country is {X}?
river length number
  ? How long is {X}?
  ? What is the length in kilometres of {X}?
river source name
  ? Where does {X} rise?
  ? What is the source of {X}?
river mouth name
  ? Into what does {X} flow?
  ? What is the mouth of {X}?
region in_country name
  = the country of {X}
  ? In which country is {X}?
region capital name
  = the capital of {X}
  ? What is the capital of {X}?
  ? Which town is the capital of {X}?
region population number
  ? What is the population of {X}?
  ? How many people live in {X}?
region area number
  ? How large is {X}, in square kilometres?
  ? What is the area in square kilometres of {X}?
country capital name
  = the capital of {X}
  ? What is the capital of {X}?
  ? Which town is the capital of {X}?
country population number
  ? What is the population of {X}?
  ? How many people live in {X}?
country currency name
  ? What is the currency of {X}?
  ? What does one pay with in {X}?
country president name
  = the president of {X}
  ? Who is the president of {X}?
  ? What is the name of the president of {X}?
country founded_in_year number
  ? Since which year has {X} been independent?
  ? What is the year of independence of {X}?
town population_{Y} number
  ? What was the population of {X} in {Y}?
  ? In {Y}, how many people lived in {X}?
festival visitors_{Y} number
  ? How many visitors did {X} have in {Y}?
  ? In {Y}, how many people came to {X}?
prize winner_{Y} title
  = the {K} that won {X} in {Y}
  = the {Y} winner of {X}
  ? Which {K} won {X} in {Y}?
  ? In {Y}, which {K} won {X}?
""")
"""Phrases by kind of the subject and relation. `{Y}` in a relation stands for the year of a series."""
KIND_WORDS = {"landmark": "building"}
"""Words for kinds of entities that differ from the name of the kind."""


def find_phrases(fact: Fact) -> RelationPhrases | None:
    """Return the phrases for a fact, or None if there are none or if only an old page states the fact."""
    if fact.as_of:
        return None
    phrases = RELATION_PHRASES.get((fact.subject.kind, f"{fact.base_relation}_{{Y}}" if fact.year else fact.relation))
    if phrases is None or not fact.year:
        return phrases
    slots = {"X": "{X}", "Y": fact.year, "K": kind_word(fact.target) if fact.target else ""}
    noun_phrases, questions = (
        [template.format(**slots) for template in templates] for templates in (phrases.noun_phrases, phrases.questions)
    )
    return RelationPhrases(tuple(noun_phrases), tuple(questions), phrases.answer_type)


def kind_word(entity: Entity) -> str:
    """Return the word for an entity's kind."""
    return KIND_WORDS.get(entity.kind, entity.kind)


def name_in_sentence(entity: Entity) -> str:
    """Return the entity's name as it stands in a sentence; the bracket of its title becomes words."""
    name, bracket = entity.name, entity.disambiguator
    match entity.kind:
        case "town":
            return f"{name} in {bracket}" if bracket else name
        case "person":
            return f"the {bracket} {name}" if bracket else name
        case "novel" | "film":
            return f'the {entity.kind} "{name}"'
        case "festival":
            return f"the {name} festival" if name.endswith("s") else f"the {name}"
        case "river":
            return f"the {entity.title}"
        case "product" | "landmark" | "prize" | "university":
            return f"the {name}"
    return name


def extend_phrase(rng: Random, phrase: Phrase, fact: Fact) -> Phrase:
    """Return a phrase for the fact's object, given one for its subject. The fact must have noun phrases."""
    phrases = find_phrases(fact)
    assert phrases
    template = _choose_template(rng, phrases.noun_phrases, phrase)
    return Phrase(template.format(X=phrase.text), phrase.has_trailing_words or not template.endswith("{X}"))


def build_question(rng: Random, phrase: Phrase, fact: Fact) -> str:
    """Return a question for the fact's object, given a phrase for its subject. The fact must have phrases."""
    phrases = find_phrases(fact)
    assert phrases
    return capitalize_first(_choose_template(rng, phrases.questions, phrase, "?").format(X=phrase.text))


def _choose_template(rng: Random, templates: tuple[str, ...], phrase: Phrase, suffix: str = "") -> str:
    """Draw a template. For a phrase with words after its entity, prefer one that ends with its slot."""
    ending_with_slot = [template for template in templates if template.endswith("{X}" + suffix)]
    return rng.choice(ending_with_slot if phrase.has_trailing_words and ending_with_slot else templates)


def capitalize_first(text: str) -> str:
    """Return the text with its first letter in upper case."""
    return text[0].upper() + text[1:]


def with_article(words: str) -> str:
    """Return the words with their indefinite article in front."""
    return f"{'an' if words[0].lower() in 'aeiou' else 'a'} {words}"


def join_with_and(items: list[str]) -> str:
    """Return the items as `a, b and c`."""
    return " and ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)
