"""Forums, blogs and a recipe collection: what people write for each other, partly about entities of the graph."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from html import escape

from webemu.worlds.graph import Product, Town
from webemu.worlds.names import SYLLABLE_SETS, invent_family_name, slugify
from webemu.worlds.prose import SentencePicker, format_long_date, render_paragraph
from webemu.worlds.seeded_random import seeded_rng
from webemu.worlds.site_directory import FORUM_HOSTS, RECIPES_HOST, SHOP_HOST, SiteDirectory, render_link
from webemu.worlds.sites.common import list_common_pages, list_paged
from webemu.worlds.templates import render_list, render_page, render_table
from webemu.worlds.web import Site, SitePage

PLACE_QUESTIONS = (
    "Anyone fished the {river} below {town} this [spring|autumn]? Is the towpath open?", "Thinking of a weekend in {town}. Where does one sleep for little money?", "Is the weir at {town} still closed for repairs?",
    "My grandfather always spoke of {town}. Is it worth the train ride?", "Lost a blue tackle box near {town} on {day}. Reward: a smoked trout.",
)  # fmt: skip
PRODUCT_QUESTIONS = (
    "My {thing} hums and then stops. The fuse is fine. Ideas?", "Where do I get a [gasket|spring|knob|belt] for the {thing}?", "{thing}: how do you open the housing without breaking the tabs?",
    "Is the {thing} from {year} the same inside as the older one?", "Bought a {thing} at a flea market, no manual. Which oil does it take?",
)  # fmt: skip
PLACE_REPLIES = (
    "Went there on {day}. [Muddy, but open.|Closed again, sign says until spring.|Lovely, and nobody about.]", "Ask at the [bakery|ferry|tackle shop] in {town}, they know everything.", "Take the slow train, it stops where you want to be.",
    "{town} has {population} people and I think I met all of them in one pub.", "Not the same since they built the new road.", "Bring boots.", "+1", "The museum is better than it looks from outside.",
)  # fmt: skip
PRODUCT_REPLIES = (
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
COOKING_STEPS = (
    "Chop everything small and do not hurry.", "Melt the butter and let the onions go [soft|golden].", "Add the liquid by and by.", "Simmer for [twenty|thirty|forty] minutes with the lid on.", "Let it rest overnight; it only gets better.",
    "Bake at [160|180|200] degrees until the kitchen smells of it.", "Taste, then salt, then taste again.", "Serve with [dark bread|a sharp salad|cold cider].", "Fold the dough three times and leave it in peace.",
)  # fmt: skip
RECIPE_TALES = (
    "This is how it was made in {town} before the [railway|war|mill] came.", "A neighbour from {town} gave me the recipe on the back of a bus ticket.", "In {region} every house makes it differently and every house is right.",
    "I ate it first at the {festival}, standing up, in the rain.",
)  # fmt: skip
DIARY_SENTENCES = (
    "Took the early train to {town}. It {mood}.", "I finished “{work}” by {maker} last night and [could not sleep|slept like a stone].", "The {river} was [high|brown|full of light] today.", "There was a queue in front of the bakery in {town}, and nobody was in a hurry.",
    "Somebody asked me why I write here. I had no good answer.", "Spent an hour in front of the {mark} and drew it badly.", "My neighbour says {mayor} will [never|surely] keep the promise about the buses.", "It is the small things: a new lamp, {trade} on a sign, a dog asleep in a doorway.",
    "The {thing} on my desk broke again. I have grown fond of the noise.", "I met three people who remember when {town} had {before} inhabitants.",
)  # fmt: skip
MOODS = ("rained all day", "was colder than the forecast said", "smelled of coal and lilac", "was market day")


def build_gatherings(directory: SiteDirectory) -> list[Site]:
    """Return the sites of the two forums, the five blogs and the recipe collection."""
    return [
        _build_forum(directory, 0),
        _build_forum(directory, 1),
        *(_build_blog(directory, n) for n in range(5)),
        _build_recipe_site(directory),
    ]


def _scale_count(directory: SiteDirectory, per_2000: float, minimum: int) -> int:
    """Return `per_2000` for every 2,000 pages, but no fewer than `minimum`."""
    return max(minimum, round(per_2000 * directory.scale))


def _build_forum(directory: SiteDirectory, n: int) -> Site:
    names = (("Anglers' Ring", "Water, weather, patience"), ("The Fix-It Circle", "Nothing is broken for ever"))
    nav = (("/", "Board"), ("/rules", "Rules"), ("/members", "Members"))
    return Site(
        FORUM_HOSTS[n], *names[n][:1], "forum", names[n][1], partial(_list_forum_pages, directory, n), nav, ("#3d6b8c", "#6b5b3d")[n], "lighttpd/1.4.69",
        not_found_paths=("/attachment/4711",), redirects=(("/viewtopic.php?t=1", "/thread/1", 301), ("/new", "/", 302)), failing_paths=(("/search", 500),), disallowed_prefixes=("/search", "/login"),
    )  # fmt: skip


def _list_forum_pages(directory: SiteDirectory, n: int, site: Site) -> Iterator[SitePage]:
    threads = range(1, _scale_count(directory, 30, 4) + 1)
    subjects = [_draw_subject(directory, n, number) for number in threads]
    items = [partial(_render_thread_link, number, subject) for number, subject in zip(threads, subjects, strict=True)]
    yield from list_paged(site, "/", site.name, items[::-1], 25)
    for number, subject in zip(threads, subjects, strict=True):
        day = f"2024-{1 + number * 10 // len(threads):02d}-{1 + number % 27:02d}"
        yield SitePage(f"/thread/{number}", partial(_render_thread, directory, n, number, subject, day, site), day)
    rules = render_list(
        (
            "Be kind.",
            "No selling without a price.",
            "Photographs of fish must show the whole fish.",
            f"Old attachments are gone: {render_link('/attachment/4711', 'example')}.",
        )
    )
    yield SitePage(
        "/rules", partial(render_page, site, f"Rules - {site.name}", f"<h1>Rules</h1>\n{rules}"), "2019-01-01"
    )
    rows = [(_draw_user_name(site, k), str(seeded_rng(site.host, "posts", k).randint(1, 4000))) for k in range(30)]
    yield SitePage(
        "/members",
        partial(
            render_page, site, f"Members - {site.name}", "<h1>Members</h1>\n" + render_table(("Name", "Posts"), rows)
        ),
        "2024-11-01",
    )
    yield from list_common_pages(site)


def _draw_subject(directory: SiteDirectory, n: int, number: int) -> Town | Product:
    """Return the entity that a thread is about: a town on a river in the first forum, a product in the second."""
    graph, rng = directory.graph, seeded_rng(directory.graph.seed, "thread", n, number)
    return graph.towns[rng.choice(graph.towns_on_rivers)] if n == 0 else rng.choice(graph.products)


def _render_thread_link(number: int, subject: Town | Product) -> str:
    return f'{render_link(f"/thread/{number}", f"{subject.name}?")} <span class="date">#{number}</span>'


def _draw_user_name(site: Site, member: int) -> str:
    """Return the user name of a forum's member."""
    rng = seeded_rng(site.host, "member", member)
    return f"{rng.choice(('old', 'wet', 'slow', 'rusty', 'northern', 'left', 'quiet'))}_{rng.choice(('heron', 'spanner', 'kettle', 'otter', 'fuse', 'ferry', 'pike'))}{rng.randint(2, 99)}"


def _render_thread(directory: SiteDirectory, n: int, number: int, subject: Town | Product, day: str, site: Site) -> str:
    graph, rng = directory.graph, seeded_rng(directory.graph.seed, "posts", n, number)
    picker = SentencePicker(rng)
    banks: tuple[tuple[str, ...], tuple[str, ...]]
    if isinstance(subject, Town):
        slots: dict[str, object] = {
            "town": escape(subject.name),
            "river": escape(graph.rivers[subject.river].title),
            "population": f"{subject.population[3]:,}",
        }
        banks, link = (PLACE_QUESTIONS, PLACE_REPLIES), render_link(directory.wiki_url(subject), "this")
    else:
        company = graph.companies[subject.company]
        slots = {
            "thing": escape(subject.name),
            "maker": escape(company.name),
            "year": subject.introduction_year,
            "town": escape(graph.towns[company.town].name),
        }
        banks, link = (
            (PRODUCT_QUESTIONS, PRODUCT_REPLIES),
            render_link(f"https://{SHOP_HOST}/item/{slugify(subject.name)}", "the shop"),
        )
    slots["day"] = format_long_date(day)
    messages = [picker.pick(banks[0], **slots), *picker.pick_several(banks[1], 2, 6, **slots)]
    if rng.random() < 0.5:
        messages.append(f"See {link}.")
    posts = "".join(
        f'<div class="post"><div class="who">{_draw_user_name(site, rng.randrange(30))}</div><div class="msg"><span class="date">{format_long_date(day)}</span><p>{text}</p></div></div>\n'
        for text in messages
    )
    return render_page(site, f"{subject.name}? - {site.name}", f"<h1>{escape(subject.name)}?</h1>\n{posts}")


def _build_blog(directory: SiteDirectory, n: int) -> Site:
    rng = seeded_rng(directory.graph.seed, "blog", n)
    syllables = SYLLABLE_SETS[n % 3]
    writer = f"{rng.choice(syllables.female_names + syllables.male_names)} {invent_family_name(rng, syllables)}"
    name = (
        f"{writer} writes",
        "Notes from the slow train",
        f"{writer.split()[0]}'s window",
        "Third cup of tea",
        "The long way home",
    )[n]
    host = (
        f"www.{slugify(writer)}.net",
        "slowtrain.notes.page",
        f"{slugify(writer)}.penfold.blog",
        "thirdcup.penfold.blog",
        f"{slugify(writer)}.com",
    )[n]
    nav = (("/", "Posts"), ("/about", "About"))
    return Site(host, name, "blog", f"A diary by {writer}", partial(_list_blog_pages, directory, n), nav, ("#884422", "#226644", "#444488", "#886600", "#555555")[n], "nginx",
                "/feed.xml", not_found_paths=("/2011/lost-post",), redirects=(("/blog", "/", 301),))  # fmt: skip


def _list_blog_pages(directory: SiteDirectory, n: int, site: Site) -> Iterator[SitePage]:
    days = sorted(
        (seeded_rng(site.host, "day", k).randint(0, 1400) for k in range(_scale_count(directory, 10, 2))), reverse=True
    )
    posts = [(f"{2021 + day // 360}-{1 + day % 360 // 30:02d}-{1 + day % 28:02d}", k) for k, day in enumerate(days)]
    items = [partial(_render_post_link, day, k, directory, n) for day, k in posts]
    yield from list_paged(site, "/", site.name, items, 15)
    for day, k in posts:
        yield SitePage(
            f"/{day[:4]}/{day[5:7]}/{_post_slug(directory, n, k)}",
            partial(_render_post, directory, n, k, day, site),
            day,
        )
    yield from list_common_pages(site)


def _draw_post_subject(directory: SiteDirectory, n: int, k: int) -> Town:
    return seeded_rng(directory.graph.seed, "post", n, k).choice(directory.graph.towns)


def _draw_post_title(directory: SiteDirectory, n: int, k: int) -> str:
    town = _draw_post_subject(directory, n, k).name
    return seeded_rng(directory.graph.seed, "post title", n, k).choice(
        (f"A day in {town}", f"{town}, again", f"What I found in {town}", f"Rain over {town}", f"Postcard from {town}")
    )


def _post_slug(directory: SiteDirectory, n: int, k: int) -> str:
    return f"{slugify(_draw_post_title(directory, n, k))}-{k + 1}"


def _render_post_link(day: str, k: int, directory: SiteDirectory, n: int) -> str:
    return f"{render_link(f'/{day[:4]}/{day[5:7]}/{_post_slug(directory, n, k)}', _draw_post_title(directory, n, k))} <small>{format_long_date(day)}</small>"


def _render_post(directory: SiteDirectory, n: int, k: int, day: str, site: Site) -> str:
    graph, town, rng = (
        directory.graph,
        _draw_post_subject(directory, n, k),
        seeded_rng(directory.graph.seed, "post text", n, k),
    )
    work, landmark, product = (
        rng.choice(graph.novels + graph.films),
        rng.choice(graph.landmarks),
        rng.choice(graph.products),
    )
    picker = SentencePicker(rng)
    # A post of before the change names the mayor of its day.
    mayor = graph.people[town.former_mayor if town.former_mayor >= 0 and day < "2024-12" else town.mayor]
    river = graph.rivers[town.river].title if town.river >= 0 else "canal"
    slots: dict[str, object] = {
        "town": escape(town.name), "mood": rng.choice(MOODS), "work": escape(work.name), "maker": escape(graph.people[work.creator].name), "river": escape(river),
        "mark": escape(landmark.name), "mayor": escape(mayor.name), "trade": town.trade, "thing": product.product_type, "before": f"{town.population[0]:,}",
    }  # fmt: skip
    sentences = picker.pick_several(DIARY_SENTENCES, 6, 9, **slots)
    links = f"<p>{render_link(directory.wiki_url(town), town.name)} · {render_link(directory.catalogue_url(work), work.name)} · {render_link('/2011/lost-post', 'an older post')}</p>\n"
    content = (
        f'<h1>{escape(_draw_post_title(directory, n, k))}</h1>\n<p class="meta"><time datetime="{day}">{format_long_date(day)}</time></p>\n'
        + render_paragraph(*sentences[:3])
        + render_paragraph(*sentences[3:6])
        + render_paragraph(*sentences[6:])
        + links
    )
    return render_page(site, f"{_draw_post_title(directory, n, k)} - {site.name}", content)


def _build_recipe_site(directory: SiteDirectory) -> Site:
    nav = (("/", "Recipes"), ("/about", "About"))
    return Site(
        RECIPES_HOST,
        "Kettlebook",
        "magazine",
        "What is eaten where",
        partial(_list_recipe_pages, directory),
        nav,
        "#7a4b1e",
        "Apache",
        not_found_paths=("/recipe/swan",),
        gone_paths=("/newsletter",),
        redirects=(("/recipes", "/", 301),),
    )


def _list_recipe_pages(directory: SiteDirectory, site: Site) -> Iterator[SitePage]:
    towns = seeded_rng(directory.graph.seed, "kitchens").sample(
        directory.graph.towns, min(_scale_count(directory, 36, 6), len(directory.graph.towns))
    )
    dishes = [(f"{seeded_rng(town.key, 'dish').choice(DISHES)} from {town.title}", town) for town in towns]
    items = [partial(render_link, f"/recipe/{slugify(name)}", name) for name, _ in dishes]
    yield from list_paged(site, "/", "All recipes", items, 30)
    for name, town in dishes:
        yield SitePage(
            f"/recipe/{slugify(name)}",
            partial(_render_recipe, directory, name, town, site),
            f"{seeded_rng(name).randint(2015, 2024)}-{seeded_rng(name, 'month').randint(1, 10):02d}-15",
        )
    yield from list_common_pages(site)


def _render_recipe(directory: SiteDirectory, name: str, town: Town, site: Site) -> str:
    graph, rng = directory.graph, seeded_rng(directory.graph.seed, "recipe", town.key)
    picker = SentencePicker(rng)
    rows = [(food, f"{rng.randrange(50, 900, 50)} g") for food in rng.sample(FOODS, rng.randint(5, 8))]
    tale = picker.pick(
        RECIPE_TALES,
        town=escape(town.name),
        region=escape(graph.regions[town.region].name),
        festival=escape(rng.choice(graph.festivals).name),
    )
    steps = "".join(f"<li>{step}</li>" for step in picker.pick_several(COOKING_STEPS, 4, 6))
    content = (
        f"<h1>{escape(name)}</h1>\n{render_paragraph(tale)}"
        + render_table(("Ingredient", "Amount"), rows)
        + f"<ol>{steps}</ol>\n<p>Serves {rng.randint(2, 8)}. {render_link('/recipe/swan', 'Not for swan')}.</p>\n"
    )
    return render_page(site, f"{name} | {site.name}", content)
