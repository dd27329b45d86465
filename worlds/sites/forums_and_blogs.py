"""Forums, blogs and a recipe collection: what people write for each other, partly about entities of the graph."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from html import escape

from webemu.worlds.graph import Product, Town
from webemu.worlds.names import TONGUES, family, slug
from webemu.worlds.prose import Voice, long_date, paragraph
from webemu.worlds.seeded_random import dice
from webemu.worlds.site_directory import FORUMS, RECIPES, SHOP, Atlas, anchor
from webemu.worlds.sites.common import common, paged
from webemu.worlds.templates import bullets, page, table
from webemu.worlds.web import Leaf, Site

ASK_PLACE = (
    "Anyone fished the {river} below {town} this [spring|autumn]? Is the towpath open?", "Thinking of a weekend in {town}. Where does one sleep for little money?", "Is the weir at {town} still closed for repairs?",
    "My grandfather always spoke of {town}. Is it worth the train ride?", "Lost a blue tackle box near {town} on {day}. Reward: a smoked trout.",
)  # fmt: skip
ASK_THING = (
    "My {thing} hums and then stops. The fuse is fine. Ideas?", "Where do I get a [gasket|spring|knob|belt] for the {thing}?", "{thing}: how do you open the housing without breaking the tabs?",
    "Is the {thing} from {year} the same inside as the older one?", "Bought a {thing} at a flea market, no manual. Which oil does it take?",
)  # fmt: skip
REPLY_PLACE = (
    "Went there on {day}. [Muddy, but open.|Closed again, sign says until spring.|Lovely, and nobody about.]", "Ask at the [bakery|ferry|tackle shop] in {town}, they know everything.", "Take the slow train, it stops where you want to be.",
    "{town} has {population} people and I think I met all of them in one pub.", "Not the same since they built the new road.", "Bring boots.", "+1", "The museum is better than it looks from outside.",
)  # fmt: skip
REPLY_THING = (
    "Two screws under the [label|rubber feet]. Everyone misses them.", "{maker} sent me the part for the price of the stamp. Write to them, on paper.", "Clean the contacts first, it is always the contacts.", "Mine is from {year} and has never been opened.",
    "The workshop in {town} still repairs them.", "Did you try turning it the other way? Serious question.", "There is a drawing in the archive, ask the moderator.", "Solved: it was a hairpin.", "Use less oil than you think.",
)  # fmt: skip
DISHES = (
    "Barley soup",
    "Smoked trout pie",
    "Plum dumplings",
    "Rye pancakes",
    "Leek and potato bake",
    "Cider bread",
    "Cabbage rolls",
    "Almond tart",
    "Bean stew",
    "Buckwheat porridge",
    "Pickled herring",
    "Honey cake",
    "Onion tart",
    "Chestnut purée",
    "Sorrel soup",
    "Pear crumble",
    "Mushroom ragout",
    "Poppy seed roll",
)
FOODS = (
    "onions",
    "rye flour",
    "butter",
    "cream",
    "dried plums",
    "caraway",
    "juniper berries",
    "potatoes",
    "eggs",
    "honey",
    "barley",
    "leeks",
    "bay leaves",
    "cider",
    "smoked bacon",
    "white beans",
    "pears",
    "mustard",
)
STEPS = (
    "Chop everything small and do not hurry.", "Melt the butter and let the onions go [soft|golden].", "Add the liquid by and by.", "Simmer for [twenty|thirty|forty] minutes with the lid on.", "Let it rest overnight; it only gets better.",
    "Bake at [160|180|200] degrees until the kitchen smells of it.", "Taste, then salt, then taste again.", "Serve with [dark bread|a sharp salad|cold cider].", "Fold the dough three times and leave it in peace.",
)  # fmt: skip
TALE = (
    "This is how it was made in {town} before the [railway|war|mill] came.", "A neighbour from {town} gave me the recipe on the back of a bus ticket.", "In {region} every house makes it differently and every house is right.",
    "I ate it first at the {festival}, standing up, in the rain.",
)  # fmt: skip
DIARY = (
    "Took the early train to {town}. It {mood}.", "I finished “{work}” by {maker} last night and [could not sleep|slept like a stone].", "The {river} was [high|brown|full of light] today.", "There was a queue in front of the bakery in {town}, and nobody was in a hurry.",
    "Somebody asked me why I write here. I had no good answer.", "Spent an hour in front of the {mark} and drew it badly.", "My neighbour says {mayor} will [never|surely] keep the promise about the buses.", "It is the small things: a new lamp, {trade} on a sign, a dog asleep in a doorway.",
    "The {thing} on my desk broke again. I have grown fond of the noise.", "I met three people who remember when {town} had {before} inhabitants.",
)  # fmt: skip
MOODS = ("rained all day", "was colder than the forecast said", "smelled of coal and lilac", "was market day")


def gatherings(atlas: Atlas) -> list[Site]:
    """Return the sites of the two forums, the five blogs and the recipe collection."""
    return [_forum(atlas, 0), _forum(atlas, 1), *(_blog(atlas, n) for n in range(5)), _recipes(atlas)]


def _count(atlas: Atlas, per_2000: float, least: int) -> int:
    """Return `per_2000` for every 2,000 pages, but no fewer than `minimum`."""
    return max(least, round(per_2000 * atlas.scale))


def _forum(atlas: Atlas, n: int) -> Site:
    names = (("Anglers' Ring", "Water, weather, patience"), ("The Fix-It Circle", "Nothing is broken for ever"))
    nav = (("/", "Board"), ("/rules", "Rules"), ("/members", "Members"))
    return Site(
        FORUMS[n], *names[n][:1], "forum", names[n][1], partial(_board, atlas, n), nav, ("#3d6b8c", "#6b5b3d")[n], "lighttpd/1.4.69",
        dead=("/attachment/4711",), moved=(("/viewtopic.php?t=1", "/thread/1", 301), ("/new", "/", 302)), broken=(("/search", 500),), disallow=("/search", "/login"),
    )  # fmt: skip


def _board(atlas: Atlas, n: int, site: Site) -> Iterator[Leaf]:
    threads = range(1, _count(atlas, 30, 4) + 1)
    subjects = [_subject(atlas, n, number) for number in threads]
    items = [partial(_thread_link, number, subject) for number, subject in zip(threads, subjects, strict=True)]
    yield from paged(site, "/", site.name, items[::-1], 25)
    for number, subject in zip(threads, subjects, strict=True):
        day = f"2024-{1 + number * 10 // len(threads):02d}-{1 + number % 27:02d}"
        yield Leaf(f"/thread/{number}", partial(_thread, atlas, n, number, subject, day, site), day)
    rules = bullets(
        (
            "Be kind.",
            "No selling without a price.",
            "Photographs of fish must show the whole fish.",
            f"Old attachments are gone: {anchor('/attachment/4711', 'example')}.",
        )
    )
    yield Leaf("/rules", partial(page, site, f"Rules - {site.name}", f"<h1>Rules</h1>\n{rules}"), "2019-01-01")
    rows = [(_handle(site, k), str(dice(site.host, "posts", k).randint(1, 4000))) for k in range(30)]
    yield Leaf(
        "/members",
        partial(page, site, f"Members - {site.name}", "<h1>Members</h1>\n" + table(("Name", "Posts"), rows)),
        "2024-11-01",
    )
    yield from common(site)


def _subject(atlas: Atlas, n: int, number: int) -> Town | Product:
    """Return the entity that a thread is about: a town on a river in the first forum, a product in the second."""
    graph, rng = atlas.graph, dice(atlas.graph.seed, "thread", n, number)
    return graph.towns[rng.choice(graph.wet)] if n == 0 else rng.choice(graph.products)


def _thread_link(number: int, subject: Town | Product) -> str:
    return f'{anchor(f"/thread/{number}", f"{subject.name}?")} <span class="date">#{number}</span>'


def _handle(site: Site, member: int) -> str:
    """Return the user name of a forum's member."""
    words = dice(site.host, "member", member)
    return f"{words.choice(('old', 'wet', 'slow', 'rusty', 'northern', 'left', 'quiet'))}_{words.choice(('heron', 'spanner', 'kettle', 'otter', 'fuse', 'ferry', 'pike'))}{words.randint(2, 99)}"


def _thread(atlas: Atlas, n: int, number: int, subject: Town | Product, day: str, site: Site) -> str:
    graph, rng = atlas.graph, dice(atlas.graph.seed, "posts", n, number)
    voice = Voice(rng)
    bank: tuple[tuple[str, ...], tuple[str, ...]]
    if isinstance(subject, Town):
        slots: dict[str, object] = {
            "town": escape(subject.name),
            "river": escape(graph.rivers[subject.river].title),
            "population": f"{subject.population[3]:,}",
        }
        bank, link = (ASK_PLACE, REPLY_PLACE), anchor(atlas.wiki(subject), "this")
    else:
        company = graph.companies[subject.company]
        slots = {
            "thing": escape(subject.name),
            "maker": escape(company.name),
            "year": subject.introduced,
            "town": escape(graph.towns[company.town].name),
        }
        bank, link = (ASK_THING, REPLY_THING), anchor(f"https://{SHOP}/item/{slug(subject.name)}", "the shop")
    slots["day"] = long_date(day)
    said = [voice.say(bank[0], **slots), *voice.some(bank[1], 2, 6, **slots)]
    if rng.random() < 0.5:
        said.append(f"See {link}.")
    posts = "".join(
        f'<div class="post"><div class="who">{_handle(site, rng.randrange(30))}</div><div class="msg"><span class="date">{long_date(day)}</span><p>{text}</p></div></div>\n'
        for text in said
    )
    return page(site, f"{subject.name}? - {site.name}", f"<h1>{escape(subject.name)}?</h1>\n{posts}")


def _blog(atlas: Atlas, n: int) -> Site:
    rng = dice(atlas.graph.seed, "blog", n)
    tongue = TONGUES[n % 3]
    writer = f"{rng.choice(tongue.women + tongue.men)} {family(rng, tongue)}"
    name = (
        f"{writer} writes",
        "Notes from the slow train",
        f"{writer.split()[0]}'s window",
        "Third cup of tea",
        "The long way home",
    )[n]
    host = (
        f"www.{slug(writer)}.net",
        "slowtrain.notes.page",
        f"{slug(writer)}.penfold.blog",
        "thirdcup.penfold.blog",
        f"{slug(writer)}.com",
    )[n]
    nav = (("/", "Posts"), ("/about", "About"))
    return Site(host, name, "blog", f"A diary by {writer}", partial(_posts, atlas, n), nav, ("#884422", "#226644", "#444488", "#886600", "#555555")[n], "nginx",
                "/feed.xml", dead=("/2011/lost-post",), moved=(("/blog", "/", 301),))  # fmt: skip


def _posts(atlas: Atlas, n: int, site: Site) -> Iterator[Leaf]:
    days = sorted((dice(site.host, "day", k).randint(0, 1400) for k in range(_count(atlas, 10, 2))), reverse=True)
    posts = [(f"{2021 + day // 360}-{1 + day % 360 // 30:02d}-{1 + day % 28:02d}", k) for k, day in enumerate(days)]
    items = [partial(_post_link, day, k, atlas, n) for day, k in posts]
    yield from paged(site, "/", site.name, items, 15)
    for day, k in posts:
        yield Leaf(f"/{day[:4]}/{day[5:7]}/{_post_slug(atlas, n, k)}", partial(_post, atlas, n, k, day, site), day)
    yield from common(site)


def _post_subject(atlas: Atlas, n: int, k: int) -> Town:
    return dice(atlas.graph.seed, "post", n, k).choice(atlas.graph.towns)


def _post_title(atlas: Atlas, n: int, k: int) -> str:
    town = _post_subject(atlas, n, k).name
    return dice(atlas.graph.seed, "post title", n, k).choice(
        (f"A day in {town}", f"{town}, again", f"What I found in {town}", f"Rain over {town}", f"Postcard from {town}")
    )


def _post_slug(atlas: Atlas, n: int, k: int) -> str:
    return f"{slug(_post_title(atlas, n, k))}-{k + 1}"


def _post_link(day: str, k: int, atlas: Atlas, n: int) -> str:
    return f"{anchor(f'/{day[:4]}/{day[5:7]}/{_post_slug(atlas, n, k)}', _post_title(atlas, n, k))} <small>{long_date(day)}</small>"


def _post(atlas: Atlas, n: int, k: int, day: str, site: Site) -> str:
    graph, town, rng = atlas.graph, _post_subject(atlas, n, k), dice(atlas.graph.seed, "post text", n, k)
    work, mark, thing = rng.choice(graph.novels + graph.films), rng.choice(graph.landmarks), rng.choice(graph.products)
    voice = Voice(rng)
    # A post of before the change names the mayor of its day.
    mayor = graph.people[town.former_mayor if town.former_mayor >= 0 and day < "2024-12" else town.mayor]
    river = graph.rivers[town.river].title if town.river >= 0 else "canal"
    slots: dict[str, object] = {
        "town": escape(town.name), "mood": rng.choice(MOODS), "work": escape(work.name), "maker": escape(graph.people[work.maker].name), "river": escape(river),
        "mark": escape(mark.name), "mayor": escape(mayor.name), "trade": town.trade, "thing": thing.what, "before": f"{town.population[0]:,}",
    }  # fmt: skip
    said = voice.some(DIARY, 6, 9, **slots)
    links = f"<p>{anchor(atlas.wiki(town), town.name)} · {anchor(atlas.catalogue(work), work.name)} · {anchor('/2011/lost-post', 'an older post')}</p>\n"
    main = (
        f'<h1>{escape(_post_title(atlas, n, k))}</h1>\n<p class="meta"><time datetime="{day}">{long_date(day)}</time></p>\n'
        + paragraph(*said[:3])
        + paragraph(*said[3:6])
        + paragraph(*said[6:])
        + links
    )
    return page(site, f"{_post_title(atlas, n, k)} - {site.name}", main)


def _recipes(atlas: Atlas) -> Site:
    nav = (("/", "Recipes"), ("/about", "About"))
    return Site(
        RECIPES,
        "Kettlebook",
        "magazine",
        "What is eaten where",
        partial(_book, atlas),
        nav,
        "#7a4b1e",
        "Apache",
        dead=("/recipe/swan",),
        gone=("/newsletter",),
        moved=(("/recipes", "/", 301),),
    )


def _book(atlas: Atlas, site: Site) -> Iterator[Leaf]:
    towns = dice(atlas.graph.seed, "kitchens").sample(
        atlas.graph.towns, min(_count(atlas, 36, 6), len(atlas.graph.towns))
    )
    dishes = [(f"{dice(town.key, 'dish').choice(DISHES)} from {town.title}", town) for town in towns]
    items = [partial(anchor, f"/recipe/{slug(name)}", name) for name, _ in dishes]
    yield from paged(site, "/", "All recipes", items, 30)
    for name, town in dishes:
        yield Leaf(
            f"/recipe/{slug(name)}",
            partial(_recipe, atlas, name, town, site),
            f"{dice(name).randint(2015, 2024)}-{dice(name, 'month').randint(1, 10):02d}-15",
        )
    yield from common(site)


def _recipe(atlas: Atlas, name: str, town: Town, site: Site) -> str:
    graph, rng = atlas.graph, dice(atlas.graph.seed, "recipe", town.key)
    voice = Voice(rng)
    rows = [(food, f"{rng.randrange(50, 900, 50)} g") for food in rng.sample(FOODS, rng.randint(5, 8))]
    tale = voice.say(
        TALE,
        town=escape(town.name),
        region=escape(graph.regions[town.region].name),
        festival=escape(rng.choice(graph.festivals).name),
    )
    steps = "".join(f"<li>{step}</li>" for step in voice.some(STEPS, 4, 6))
    main = (
        f"<h1>{escape(name)}</h1>\n{paragraph(tale)}"
        + table(("Ingredient", "Amount"), rows)
        + f"<ol>{steps}</ol>\n<p>Serves {rng.randint(2, 8)}. {anchor('/recipe/swan', 'Not for swan')}.</p>\n"
    )
    return page(site, f"{name} | {site.name}", main)
