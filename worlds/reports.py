"""Write the text of news stories: a lead that states the event, then details, quotes and links.

The sentences depend on the kind of event; their figures come from the graph, so that a story never contradicts it.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from html import escape

from webemu.worlds.graph import PRIZE_YEARS, Entity, Town
from webemu.worlds.names import invent_family_name
from webemu.worlds.places import syllable_set_of
from webemu.worlds.prose import SentencePicker, format_long_date, render_paragraph
from webemu.worlds.seeded_random import seeded_rng
from webemu.worlds.site_directory import SiteDirectory, render_link
from webemu.worlds.stories import COUNCIL_PLANS, RESEARCH_TOPICS, Story
from webemu.worlds.works_and_products import FESTIVAL_YEARS

LEAD_TEMPLATES: dict[str, tuple[str, ...]] = {
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
DETAIL_TEMPLATES: dict[str, tuple[str, ...]] = {
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
QUOTE_TEMPLATES = (
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


def render_story(directory: SiteDirectory, story: Story) -> str:
    """Return the paragraphs of a story as HTML. The same story always has the same text."""
    picker = SentencePicker(seeded_rng(directory.graph.seed, "report", story.path))
    rng = picker.rng
    slots: dict[str, object] = {
        "weekday": WEEKDAYS[(date.fromisoformat(story.day).weekday() - rng.randint(0, 1)) % 7], "share": rng.randint(51, 74), "crowd": rng.randint(3, 18) * 50 + rng.randint(1, 40), "price": rng.randint(12, 490),
        "percent": rng.randint(12, 68), "turnout": rng.randint(41, 79), "goals": f"{rng.randint(9, 17)}–{rng.randint(3, 8)}",
        "season": ("winter", "spring", "summer", "autumn")[int(story.day[5:7]) % 12 // 3],
    }  # fmt: skip
    slots.update(
        {
            name: value if isinstance(value, int) else escape(str(value))
            for name, value in _SLOT_BUILDERS[story.kind](directory, story).items()
        }
    )
    lead = picker.pick(LEAD_TEMPLATES[story.kind], **slots)
    details = picker.pick_several(DETAIL_TEMPLATES[story.kind], 3, 5, **slots)
    country = directory.papers[story.paper].country
    bystander = f"{rng.choice(syllable_set_of(country).female_names)} {invent_family_name(rng, syllable_set_of(country))}, {rng.choice(('who lives nearby', 'a commuter', 'one of the organisers', 'a nurse'))},"
    sayings = [_render_quote(picker, story.section, speaker) for speaker in (escape(bystander), rng.choice(SPEAKERS))]
    text = render_paragraph(lead, details[0]) + render_paragraph(*details[1:3]) + render_paragraph(sayings[0])
    return text + render_paragraph(*details[3:], sayings[1]) + _render_links(directory, story)


def _render_quote(picker: SentencePicker, section: str, speaker: str) -> str:
    """Return a quote with its speaker; `speaker` is HTML."""
    text = (
        picker.pick(QUOTE_TEMPLATES, q=picker.pick(SAYINGS[section]), speaker=speaker)
        .replace(",.", ".")
        .replace(",:", ":")
    )
    return text[0].upper() + text[1:]


def _render_links(directory: SiteDirectory, story: Story) -> str:
    """Return a line of links to the entities that the story is about, for those with a site; empty if none has one."""
    links = [_render_site_link(directory, key) for key in story.entity_keys]
    links = [link for link in links if link]
    return f'<p class="more">On the web: {", ".join(links)}</p>\n' if links else ""


def _render_site_link(directory: SiteDirectory, key: str) -> str:
    kind, _, position = key.partition("/")
    entity: Entity
    if kind == "town":
        entity = directory.graph.towns[int(position)]
        base = directory.council_url(entity)
    elif kind == "company":
        entity = directory.graph.companies[int(position)]
        base = directory.company_url(entity)
    elif kind in ("novel", "film"):
        entity = (directory.graph.novels if kind == "novel" else directory.graph.films)[int(position)]
        return render_link(directory.catalogue_url(entity), entity.name)
    else:
        return ""
    return render_link(base + "/", entity.name) if base else ""


def _launch_slots(directory: SiteDirectory, story: Story) -> dict[str, object]:
    product = directory.graph.products[story.details[0]]
    company = directory.graph.companies[product.company]
    return {
        "company": company.name,
        "product": product.name,
        "what": product.product_type,
        "town": directory.graph.towns[company.town].name,
        "price": product.price,
    }


def _award_slots(directory: SiteDirectory, story: Story) -> dict[str, object]:
    prize = directory.graph.prizes[story.details[0]]
    work = (directory.graph.novels if prize.field == "novel" else directory.graph.films)[
        prize.winners[story.details[1]]
    ]
    maker = directory.graph.people[work.creator]
    return {"prize": prize.name, "work": work.name, "maker": maker.name, "surname": maker.surname, "theme": work.theme,
            "year": PRIZE_YEARS[story.details[1]], "town": directory.graph.towns[prize.town].name}  # fmt: skip


def _opening_slots(directory: SiteDirectory, story: Story) -> dict[str, object]:
    landmark = directory.graph.landmarks[story.details[0]]
    return {
        "mark": landmark.name,
        "town": directory.graph.towns[landmark.town].name,
        "date": format_long_date(landmark.opening_date),
        "architect": directory.graph.people[landmark.architect].name,
    }


def _election_slots(directory: SiteDirectory, story: Story) -> dict[str, object]:
    town = directory.graph.towns[story.details[0]]
    mayor = directory.graph.people[town.mayor]
    handover = "The new mayor takes office in the coming weeks."
    if town.former_mayor >= 0:
        handover = (
            f"{mayor.surname} succeeds {directory.graph.people[town.former_mayor].name} at the beginning of December."
        )
    return {"town": town.name, "mayor": mayor.name, "surname": mayor.surname, "handover": handover}


def _festival_slots(directory: SiteDirectory, story: Story) -> dict[str, object]:
    festival = directory.graph.festivals[story.details[0]]
    return {"festival": festival.name, "town": directory.graph.towns[festival.town].name, "since": festival.first_year,
            "visitors": f"{festival.visitors[story.details[1]]:,}", "year": FESTIVAL_YEARS[story.details[1]]}  # fmt: skip


def _council_slots(directory: SiteDirectory, story: Story) -> dict[str, object]:
    plan = COUNCIL_PLANS[story.details[1]]
    return {"town": directory.graph.towns[story.details[0]].name, "plan": plan, "plan_cap": plan[0].upper() + plan[1:]}


def _results_slots(directory: SiteDirectory, story: Story) -> dict[str, object]:
    n, percent, is_up = story.details
    company = directory.graph.companies[n]
    return {"company": company.name, "town": directory.graph.towns[company.town].name, "percent": percent, "direction": ("down", "up")[is_up],
            "employees": f"{company.employees:,}"}  # fmt: skip


def _flood_slots(directory: SiteDirectory, story: Story) -> dict[str, object]:
    town = directory.graph.towns[story.details[0]]
    return {"town": town.name, "river": directory.graph.rivers[town.river].title}


def _research_slots(directory: SiteDirectory, story: Story) -> dict[str, object]:
    person = directory.graph.people[story.details[0]]
    return {
        "person": person.name,
        "occ": person.occupation,
        "school": directory.graph.find_employer(person).name,
        "topic": RESEARCH_TOPICS[story.details[1]],
    }


def _match_slots(directory: SiteDirectory, story: Story) -> dict[str, object]:
    n, other, goals_for, goals_against = story.details
    return {
        "town": _town_name(directory, n),
        "other": _town_name(directory, other),
        "goals": f"{goals_for}–{goals_against}",
    }


def _road_slots(directory: SiteDirectory, story: Story) -> dict[str, object]:
    return {"town": _town_name(directory, story.details[0]), "other": _town_name(directory, story.details[1])}


def _town_name(directory: SiteDirectory, n: int) -> str:
    return directory.graph.towns[n].name


def _weather_slots(directory: SiteDirectory, story: Story) -> dict[str, object]:
    name = directory.graph.regions[story.details[0]].name
    return {"region": name, "Region": name}


def _plant_slots(directory: SiteDirectory, story: Story) -> dict[str, object]:
    n, town, jobs = story.details
    company = directory.graph.companies[n]
    return {
        "company": company.name,
        "town": _town_name(directory, town),
        "jobs": jobs,
        "founded": company.founding_year,
        "seat": _town_name(directory, company.town),
    }


def _census_slots(directory: SiteDirectory, story: Story) -> dict[str, object]:
    town: Town = directory.graph.towns[story.details[0]]
    return {"town": town.name, "population": f"{town.population[3]:,}", "before": f"{town.population[1]:,}"}


def _exhibition_slots(directory: SiteDirectory, story: Story) -> dict[str, object]:
    person = directory.graph.people[story.details[0]]
    return {
        "person": person.name,
        "surname": person.surname,
        "occ": person.occupation,
        "town": _town_name(directory, story.details[1]),
        "home": _town_name(directory, person.birthplace),
    }


_SLOT_BUILDERS: dict[str, Callable[[SiteDirectory, Story], dict[str, object]]] = {
    "launch": _launch_slots, "award": _award_slots, "opening": _opening_slots, "election": _election_slots, "festival": _festival_slots, "council": _council_slots,
    "results": _results_slots, "flood": _flood_slots, "research": _research_slots, "match": _match_slots, "road": _road_slots, "weather": _weather_slots,
    "plant": _plant_slots, "census": _census_slots, "exhibition": _exhibition_slots,
}  # fmt: skip
