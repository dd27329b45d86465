"""Write the text of news stories: a lead that states the event, then details, quotes and links.

The sentences depend on the kind of event; their figures come from the graph, so that a story never contradicts it.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from html import escape

from webemu.worlds.graph import PRIZE_YEARS, Entity, Town
from webemu.worlds.names import family
from webemu.worlds.places import tongue_of
from webemu.worlds.prose import Voice, long_date, paragraph
from webemu.worlds.seeded_random import dice
from webemu.worlds.site_directory import Atlas, anchor
from webemu.worlds.stories import PLANS, TOPICS, Story
from webemu.worlds.works_and_products import YEARS_OF_FESTIVALS

LEADS: dict[str, tuple[str, ...]] = {
    "launch": ("{company} has [presented|introduced] a new {what}, the {product}.", "With the {product}, {company} brings a new {what} to the shops this {season}.",
               "The {product} is here: {company} showed its new {what} to dealers in {town} on {weekday}."),
    "award": ("The {prize} {year} has been awarded to “{work}” by {maker}.", "{maker} has won the {year} {prize} for “{work}”.",
              "“{work}”, by {maker}, takes this year's {prize}, the jury announced in {town} on {weekday}."),
    "opening": ("The {mark} in {town} was opened on {date}.", "After years of planning, {town} opened its {mark} on {date}.",),
    "election": ("{mayor} has been elected mayor of {town}.", "The people of {town} have chosen {mayor} as their [next|new] mayor.",
                 "{mayor} will be mayor of {town}, winning {share} per cent of the vote."),
    "festival": ("{visitors} people visited the {festival} in {year}, the organisers said on {weekday}.",
                 "The {festival} {year} closed on {weekday} with {visitors} visitors counted at the gates."),
    "council": ("The council of {town} spent most of {weekday} evening on {plan}.", "{plan_cap} [was|were] the main item when the {town} council met on {weekday}."),
    "results": ("{company} said on {weekday} that sales had gone {direction} by {percent} per cent against the same quarter of last year.",
                "Sales at {company} of {town} are {direction} {percent} per cent, according to figures published on {weekday}."),
    "flood": ("After [two days|a night|a week] of rain the {river} has risen over the quay at {town}.", "The {river} left its banks at {town} on {weekday}, flooding [cellars|gardens and a car park|the lower street]."),
    "research": ("A team led by {person} of the {school} has published a study of {topic}.", "{person}, {occ} at the {school}, has spent [four|six|nine] years on {topic}. The results appeared on {weekday}."),
    "match": ("{town} beat {other} {goals} on {weekday} in front of {crowd} spectators.", "{town} took the points with a {goals} win over {other} on {weekday}."),
    "road": ("Anyone who travels between {town} and {other} will need patience from {weekday}.", "Travel between {town} and {other} changes from {weekday}, the regional transport office said."),
    "weather": ("{Region} woke on {weekday} to [fallen trees|closed schools|icy roads].", "The fire brigades of {region} counted {crowd} call-outs [overnight|between dusk and dawn]."),
    "plant": ("{company} will build a new site in {town} with {jobs} jobs, the firm and the council announced on {weekday}.",
              "{jobs} jobs are to come to {town}: {company} has signed for [a plot near the station|the old barracks|eleven hectares by the ring road]."),
    "census": ("{town} has {population} inhabitants, according to the 2021 census.", "The 2021 census counted {population} people in {town}."),
    "exhibition": ("{person} was the guest of honour in {town} on {weekday}.", "The {occ} {person} filled the [town hall|old granary|assembly rooms] of {town} on {weekday}."),
}  # fmt: skip
DETAILS: dict[str, tuple[str, ...]] = {
    "launch": ("It will cost about {price} euros.", "The firm, based in {town}, has [kept the old motor|redrawn the housing|cut the number of screws from 31 to 12].",
               "Dealers can order from [Monday|the first of next month].", "Spare parts are promised for ten years.", "A [cheaper|lighter] version is planned."),
    "award": ("The jury praised its [patience|humour|clear eye].", "It was one of [six|eight] works on the shortlist.", "The award will be handed over in {town}.",
              "It tells of {theme}.", "{surname} thanked [a patient editor|the night train|two neighbours]."),
    "opening": ("It was designed by the architect {architect}.", "Thousands queued [in the rain|in bright sun] for a first look.", "The work took [three|four|six] years.",
                "The [brass band|fire brigade|school choir] opened the afternoon.", "Entry is free for the first month."),
    "election": ("Turnout was {turnout} per cent.", "The count at the town hall ended shortly [before midnight|after nine].", "The runner-up congratulated {surname} [by telephone|in person].",
                 "During the campaign {surname} had promised [new buses|repairs to both schools|no further parking fees].", "{handover}"),
    "festival": ("It was first held in {since}.", "The organisers praised the [weather|volunteers|discipline of the queues].", "Next year's programme will be [shorter|published in spring].",
                 "The fire brigade reported [one sprained ankle|no incidents|a lost pony].", "Hotels in {town} were booked out."),
    "council": ("The vote was {goals}, with two members absent.", "A petition had gathered {crowd} signatures.", "Costs are put at {price},000 euros.", "A final decision is due [in spring|after the summer break|next month].",
                "Shopkeepers fear for [deliveries|their customers|Saturday trade].", "A trial of six months is now being discussed."),
    "results": ("The firm employs {employees} people.", "Orders from abroad [grew faster|fell less] than those at home.", "The board kept its forecast for the year.",
                "The price of [steel|energy|cardboard] weighed on earnings.", "A new [paint line|warehouse] goes into service next year."),
    "flood": ("At the gauge the level stood {percent}0 centimetres above normal.", "The quay is closed and [two|three] families were taken in by neighbours.", "Sandbags are handed out [at the depot|behind the school].",
              "Forecasters expect the water to fall [by the weekend|from tomorrow night].", "Trains run at walking pace over the bridge."),
    "research": ("The paper rests on [measurements from forty sites|three archives|a collection begun in 1921].", "The work was paid for by [a foundation|the regional academy].",
                 "Others in the field called the findings [plausible|surprising|overdue].", "A follow-up with [schools|amateur observers] is planned.", "The data can be used by anyone."),
    "match": ("The [first|decisive] goal fell after {percent} minutes.", "{other} played the last half hour with ten.", "A penalty was [saved|awarded and withdrawn].", "The pitch was [soft|frozen at the edges|in fine shape].",
              "{town} [stay|move up] in the upper half of the table."),
    "road": ("The reason is [a bridge bearing|resurfacing|a burst water main].", "A replacement bus runs every [twenty|forty] minutes.", "Tickets stay valid on both routes.", "Cyclists can use the towpath.",
             "The work is to cost {price},000 euros."),
    "weather": ("No one was seriously hurt.", "[Two|Four] schools stayed closed.", "Power was back in most places by [noon|evening].", "Farmers speak of damage to [orchards|greenhouses].", "Forecasters expect calmer days [from Thursday|at the weekend]."),
    "plant": ("Building starts [in spring|this autumn].", "The council sells the land for {price},000 euros.", "Neighbours have asked for [a noise barrier|a new bus stop].", "The firm, founded in {founded}, has its headquarters in {seat}.",
              "Apprentices will be trained on site."),
    "census": ("Twenty years earlier it had been {before}.", "[Rents|Births|Newcomers from the capital] explain part of the change.", "The average household now has [2.1|2.3|1.9] members.", "The mayor's office will use the figures for [school planning|bus routes].",
               "Full tables were published by the statistics office."),
    "exhibition": ("Tickets had been sold out for [days|weeks].", "Afterwards there was [soup|a long queue for signatures|a debate about parking].", "{surname} was born in {home}.", "The evening closed with [an old song|questions from pupils].",
                   "The proceeds go to the [town library|music school]."),
}  # fmt: skip
QUOTES = (
    "“{q},” said {speaker}.", "“{q},” {speaker} told this newspaper.", "{speaker} was more cautious: “{q}.”", "“{q},” {speaker} said [on the telephone|outside|afterwards].",
    "Asked for a comment, {speaker} replied: “{q}.”",
)  # fmt: skip
"""Templates that frame a quote."""
SAYINGS: dict[str, tuple[str, ...]] = {
    "business": ("We have waited long for this", "People buy what they can repair", "The order books are fuller than last winter", "We do not build for the catalogue but for use", "It is a step, no more than that"),
    "culture": ("I did not expect to be standing here", "You could have heard a pin drop", "It is a modest work, and that is its strength", "We were still hanging lamps at noon", "Nobody wanted to go home"),
    "politics": ("Now we will be measured by what we do", "I would have liked a clearer result", "People are tired of promises", "It will cost money, but so does waiting", "We have talked about this for nine years"),
    "science": ("We were surprised ourselves", "The hardest part was getting permission", "It is a beginning", "Sometimes the old notebooks are right", "Anyone can check our figures"),
    "sport": ("We were lucky in the right moments", "The second half was ours", "I have no explanation for that goal", "We will sleep well tonight"),
    "region": ("We are used to it here", "I have never seen it like this", "The neighbours helped at once", "It could have been worse", "We will manage"),
}  # fmt: skip
"""Words to be quoted, by section."""
SPEAKERS = (
    "a spokesperson for the council",
    "a shopkeeper from the market square",
    "a visitor who had come by train",
    "the head of the fire brigade",
    "a long-time resident",
    "a retired teacher",
)
WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()


def body(atlas: Atlas, story: Story) -> str:
    """Return the paragraphs of a story as HTML. The same story always has the same text."""
    voice = Voice(dice(atlas.graph.seed, "report", story.path))
    rng = voice.rng
    slots: dict[str, object] = {
        "weekday": WEEKDAYS[(date.fromisoformat(story.day).weekday() - rng.randint(0, 1)) % 7], "share": rng.randint(51, 74), "crowd": rng.randint(3, 18) * 50 + rng.randint(1, 40), "price": rng.randint(12, 490),
        "percent": rng.randint(12, 68), "turnout": rng.randint(41, 79), "goals": f"{rng.randint(9, 17)}–{rng.randint(3, 8)}",
        "season": ("winter", "spring", "summer", "autumn")[int(story.day[5:7]) % 12 // 3],
    }  # fmt: skip
    slots.update(
        {
            name: value if isinstance(value, int) else escape(str(value))
            for name, value in _SLOTS[story.kind](atlas, story).items()
        }
    )
    lead = voice.say(LEADS[story.kind], **slots)
    details = voice.some(DETAILS[story.kind], 3, 5, **slots)
    country = atlas.papers[story.paper].country
    named = f"{rng.choice(tongue_of(country).women)} {family(rng, tongue_of(country))}, {rng.choice(('who lives nearby', 'a commuter', 'one of the organisers', 'a nurse'))},"
    sayings = [_quote(voice, story.section, who) for who in (escape(named), rng.choice(SPEAKERS))]
    text = paragraph(lead, details[0]) + paragraph(*details[1:3]) + paragraph(sayings[0])
    return text + paragraph(*details[3:], sayings[1]) + _links(atlas, story)


def _quote(voice: Voice, section: str, who: str) -> str:
    """Return a quote with its speaker; `speaker` is HTML."""
    text = voice.say(QUOTES, q=voice.say(SAYINGS[section]), speaker=who).replace(",.", ".").replace(",:", ":")
    return text[0].upper() + text[1:]


def _links(atlas: Atlas, story: Story) -> str:
    """Return a line of links to the entities that the story is about, for those with a site; empty if none has one."""
    links = [_home(atlas, key) for key in story.about]
    links = [link for link in links if link]
    return f'<p class="more">On the web: {", ".join(links)}</p>\n' if links else ""


def _home(atlas: Atlas, key: str) -> str:
    kind, _, position = key.partition("/")
    entity: Entity
    if kind == "town":
        entity = atlas.graph.towns[int(position)]
        base = atlas.council(entity)
    elif kind == "company":
        entity = atlas.graph.companies[int(position)]
        base = atlas.firm(entity)
    elif kind in ("novel", "film"):
        entity = (atlas.graph.novels if kind == "novel" else atlas.graph.films)[int(position)]
        return anchor(atlas.catalogue(entity), entity.name)
    else:
        return ""
    return anchor(base + "/", entity.name) if base else ""


def _launch(atlas: Atlas, story: Story) -> dict[str, object]:
    product = atlas.graph.products[story.subject[0]]
    company = atlas.graph.companies[product.company]
    return {
        "company": company.name,
        "product": product.name,
        "what": product.what,
        "town": atlas.graph.towns[company.town].name,
        "price": product.price,
    }


def _award(atlas: Atlas, story: Story) -> dict[str, object]:
    prize = atlas.graph.prizes[story.subject[0]]
    work = (atlas.graph.novels if prize.field == "novel" else atlas.graph.films)[prize.winners[story.subject[1]]]
    maker = atlas.graph.people[work.maker]
    return {"prize": prize.name, "work": work.name, "maker": maker.name, "surname": maker.surname, "theme": work.theme,
            "year": PRIZE_YEARS[story.subject[1]], "town": atlas.graph.towns[prize.town].name}  # fmt: skip


def _opening(atlas: Atlas, story: Story) -> dict[str, object]:
    mark = atlas.graph.landmarks[story.subject[0]]
    return {
        "mark": mark.name,
        "town": atlas.graph.towns[mark.town].name,
        "date": long_date(mark.opened),
        "architect": atlas.graph.people[mark.architect].name,
    }


def _election(atlas: Atlas, story: Story) -> dict[str, object]:
    town = atlas.graph.towns[story.subject[0]]
    mayor = atlas.graph.people[town.mayor]
    handover = "The new mayor takes office in the coming weeks."
    if town.former_mayor >= 0:
        handover = (
            f"{mayor.surname} succeeds {atlas.graph.people[town.former_mayor].name} at the beginning of December."
        )
    return {"town": town.name, "mayor": mayor.name, "surname": mayor.surname, "handover": handover}


def _festival(atlas: Atlas, story: Story) -> dict[str, object]:
    festival = atlas.graph.festivals[story.subject[0]]
    return {"festival": festival.name, "town": atlas.graph.towns[festival.town].name, "since": festival.since,
            "visitors": f"{festival.visitors[story.subject[1]]:,}", "year": YEARS_OF_FESTIVALS[story.subject[1]]}  # fmt: skip


def _council(atlas: Atlas, story: Story) -> dict[str, object]:
    plan = PLANS[story.subject[1]]
    return {"town": atlas.graph.towns[story.subject[0]].name, "plan": plan, "plan_cap": plan[0].upper() + plan[1:]}


def _results(atlas: Atlas, story: Story) -> dict[str, object]:
    n, percent, up = story.subject
    company = atlas.graph.companies[n]
    return {"company": company.name, "town": atlas.graph.towns[company.town].name, "percent": percent, "direction": ("down", "up")[up],
            "employees": f"{company.employees:,}"}  # fmt: skip


def _flood(atlas: Atlas, story: Story) -> dict[str, object]:
    town = atlas.graph.towns[story.subject[0]]
    return {"town": town.name, "river": atlas.graph.rivers[town.river].title}


def _research(atlas: Atlas, story: Story) -> dict[str, object]:
    person = atlas.graph.people[story.subject[0]]
    return {
        "person": person.name,
        "occ": person.occupation,
        "school": atlas.graph.employer(person).name,
        "topic": TOPICS[story.subject[1]],
    }


def _match(atlas: Atlas, story: Story) -> dict[str, object]:
    n, other, win, lose = story.subject
    return {"town": _name(atlas, n), "other": _name(atlas, other), "goals": f"{win}–{lose}"}


def _road(atlas: Atlas, story: Story) -> dict[str, object]:
    return {"town": _name(atlas, story.subject[0]), "other": _name(atlas, story.subject[1])}


def _name(atlas: Atlas, n: int) -> str:
    return atlas.graph.towns[n].name


def _weather(atlas: Atlas, story: Story) -> dict[str, object]:
    name = atlas.graph.regions[story.subject[0]].name
    return {"region": name, "Region": name}


def _plant(atlas: Atlas, story: Story) -> dict[str, object]:
    n, town, jobs = story.subject
    company = atlas.graph.companies[n]
    return {
        "company": company.name,
        "town": _name(atlas, town),
        "jobs": jobs,
        "founded": company.founded,
        "seat": _name(atlas, company.town),
    }


def _census(atlas: Atlas, story: Story) -> dict[str, object]:
    town: Town = atlas.graph.towns[story.subject[0]]
    return {"town": town.name, "population": f"{town.population[3]:,}", "before": f"{town.population[1]:,}"}


def _exhibition(atlas: Atlas, story: Story) -> dict[str, object]:
    person = atlas.graph.people[story.subject[0]]
    return {
        "person": person.name,
        "surname": person.surname,
        "occ": person.occupation,
        "town": _name(atlas, story.subject[1]),
        "home": _name(atlas, person.birthplace),
    }


_SLOTS: dict[str, Callable[[Atlas, Story], dict[str, object]]] = {
    "launch": _launch, "award": _award, "opening": _opening, "election": _election, "festival": _festival, "council": _council,
    "results": _results, "flood": _flood, "research": _research, "match": _match, "road": _road, "weather": _weather,
    "plant": _plant, "census": _census, "exhibition": _exhibition,
}  # fmt: skip
