"""Pages in many languages are found by what people type, through the real ingest and search; no query says its own."""

import unicodedata

import pytest

from tests.crawls import CaptureSpec, html, ingest, write
from webemu.emulator.types import Query
from webemu.emulator.world import World
from webemu.index.analysis import normalize_text, split_words
from webemu.index.languages import QueryAnalyzer, guess_languages
from webemu.index.open import open_world

PAGES = {
    "zh/tea": ("龙井茶的制作", "龙井茶产于杭州西湖，新鲜的茶叶在铁锅里手工炒制，每年春天采摘。"),
    "zh/train": ("高速铁路", "北京到上海的高速铁路全长一千三百公里，列车四个多小时到达。"),
    "zh/silk": ("苏州丝绸", "苏州的丝绸工厂从蚕茧中抽丝，再织成布料。"),
    "ja/bath": ("箱根の温泉", "箱根には古い温泉旅館が多く、冬には雪を見ながら入浴できます。"),
    "ja/castle": ("姫路城の歴史", "姫路城は白鷺城とも呼ばれ、十七世紀に建てられた天守閣が残っています。"),
    "ja/python": ("Python 入門", "Python で辞書とリストを使う方法を初心者に説明します。カタカナの変数名も使えます。"),
    "ko/kimchi": ("김치 담그는 법", "배추를 소금에 절이고 고춧가루와 마늘을 넣어 김치를 담급니다."),
    "ko/bridge": ("한강의 다리", "서울 한강에는 서른 개가 넘는 다리가 있고 밤에는 조명이 켜집니다."),
    "ar/library": (
        "مكتبة الإسكندرية",
        "تضم المكتبة الجديدة ملايين الكتب والمخطوطات القديمة، ويزورها الباحثون من كل مكان.",
    ),
    "ar/coffee": ("القهوة اليمنية", "تُزرع القهوة في جبال اليمن وتُجفف الحبوب تحت الشمس."),
    "ru/bee": ("Ёлки и пасека", "Пчеловод поставил ульи под ёлками у реки, и мёд получился тёмным."),
    "ru/ship": ("Волжские пароходы", "Старые пароходы ходили по Волге от Твери до Астрахани."),
    "hi/river": ("गंगा नदी", "गंगा नदी हिमालय से निकलती है और हिन्दी भाषी मैदानों से होकर बहती है।"),
    "hi/spice": ("मसाले", "हल्दी और इलायची भारतीय रसोई के प्रमुख मसाले हैं।"),
    "th/market": ("ตลาดน้ำ", "ตลาดน้ำดำเนินสะดวกขายผลไม้และอาหารบนเรือทุกเช้า"),
    "th/elephant": ("ช้างไทย", "ช้างเลี้ยงในจังหวัดสุรินทร์มีงานแสดงประจำปี"),
    "de/street": (
        "Die Straße zum Fährhaus",
        "In der Straße am Hafen stehen zwölf alte Häuser, und die Brücke öffnet um acht Uhr.",
    ),
    "de/board": (
        "Schifffahrtsamt",
        "Das Amt für die Schifffahrt prüft die Lotsen und vergibt die Scheine für den Kanal.",
    ),
    "de/bread": ("Brot backen", "Das Brot wird mit Sauerteig gebacken und ruht vor dem Backen eine ganze Nacht."),
    "fr/cheese": ("Fromages affinés", "Les fromages sont affinés dans les caves de la vallée, où l'été reste frais."),
    "fr/theatre": ("Le théâtre de la ville", "Le théâtre présente des pièces écrites par des élèves du collège."),
    "tr/island": ("Ispanak ve ıhlamur", "Ihlamur ağaçlarının altında kurulan pazarda ıspanak ve İzmir inciri satılır."),
    "el/olive": ("Οι ελιές της Κρήτης", "Οι αγρότες μαζεύουν τις ελιές τον χειμώνα και βγάζουν λάδι."),
    "he/clock": ("שְׁעוֹן הַמִּגְדָּל", "הַשָּׁעוֹן במגדל ביפו נבנה לפני יותר ממאה שנה."),
    "vi/noodle": ("Bún chả Hà Nội", "Bún chả được ăn với nước mắm và rau sống vào buổi trưa."),
    "ta/book": ("புத்தகங்கள்", "சென்னையில் புத்தகங்கள் விற்கும் பெரிய சந்தை உள்ளது."),
    "en/harbour": (
        "Harbour pilots",
        "The pilots of the harbour guide ships through the canal to the old bridge in the town.",
    ),
    "en/onsen": (
        "Bathing abroad",
        "A traveller writes of hot springs in Hakone, of snow and of the inns where one bathes.",
    ),
    "en/tools": ("Tool reviews", "We compare saws, files and planes that people buy for a small workshop at home."),
}
"""Address to title and text; the first two letters are the language that the page declares."""

LOST = "Die alten Häuser der Hafenstädte wurden nach dem Brand von den Bürgern wieder aufgebaut. " * 6


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("languages")
    records = [
        CaptureSpec(
            f"https://{name[:2]}.example/{name}", html(title, text).replace("<html>", f'<html lang="{name[:2]}">')
        )
        for name, (title, text) in PAGES.items()
    ]
    records.append(
        CaptureSpec("https://lie.example/lie", html("Wiederaufbau", LOST).replace("<html>", '<html lang="en">'))
    )
    write(folder / "a.warc.gz", records)
    ingest(folder / "c", folder / "a.warc.gz")
    return open_world(folder / "c")


def paths_of_hits(web: World, text: str) -> list[str]:
    return [hit.url.split("/", 3)[3] for hit in web.search(Query(text)).hits]


@pytest.mark.parametrize(
    ("text", "page"),
    [
        ("龙井茶", "zh/tea"),
        ("茶叶 炒制", "zh/tea"),
        ("北京 上海 列车", "zh/train"),
        ("温泉旅館", "ja/bath"),
        ("姫路城 天守閣", "ja/castle"),
        ("ｶﾀｶﾅ 変数", "ja/python"),
        ("김치 배추", "ko/kimchi"),
        ("한강 다리", "ko/bridge"),
        ("كتب الباحث", "ar/library"),
        ("المَكْتَبَة", "ar/library"),
        ("مكتبـــة", "ar/library"),
        ("قهوة يمنية", "ar/coffee"),
        ("мед под елкой", "ru/bee"),
        ("ёлка", "ru/bee"),
        ("пароход на Волге", "ru/ship"),
        ("हिमालय", "hi/river"),
        ("हिन्दी", "hi/river"),
        ("इलायची मसाले", "hi/spice"),
        ("ตลาดน้ำ", "th/market"),
        ("ช้าง สุรินทร์", "th/elephant"),
        ("Haus Hafen", "de/street"),
        ("strasse", "de/street"),
        ("STRAẞE", "de/street"),
        ("bruecke oeffnen", "de/street"),
        ("Wo ist der Schifffahrtslotse?", "de/board"),
        ("fromage affine", "fr/cheese"),
        ("THEATRE eleve", "fr/theatre"),
        ("IHLAMUR", "tr/island"),
        ("ıspanak", "tr/island"),
        ("ispanak", "tr/island"),
        ("izmir", "tr/island"),
        ("αγρότης λαδιού", "el/olive"),
        ("ΕΛΙΕΣ ΚΡΗΤΗ", "el/olive"),
        ("שעון", "he/clock"),
        ("bun cha ha noi", "vi/noodle"),
        ("nước mắm", "vi/noodle"),
        ("புத்தகம்", "ta/book"),
        ("harbor pilot harbours", "en/harbour"),
        ("ｈａｒｂｏｕｒ", "en/harbour"),
        ("Python 辞書", "ja/python"),
        ("Hakone 温泉", "ja/bath"),
        ("tools for woodwork Säge workshop", "en/tools"),
    ],
)
def test_the_page_is_found_first(web: World, text: str, page: str) -> None:
    assert paths_of_hits(web, text)[0] == page
    assert paths_of_hits(web, unicodedata.normalize("NFD", text)) == paths_of_hits(web, text)


def test_nothing_else_shares_a_word_of_another_script(web: World) -> None:
    assert paths_of_hits(web, "龙井茶") == ["zh/tea"]
    assert paths_of_hits(web, "김치") == ["ko/kimchi"]
    assert paths_of_hits(web, "पुस्तक") == []


@pytest.mark.parametrize(("text", "page"), [('"zwölf alte Häuser"', "de/street"), ('"hot springs"', "en/onsen")])
def test_a_phrase_is_found_in_pages_of_any_language(web: World, text: str, page: str) -> None:
    assert paths_of_hits(web, f"intext:{text}") == [page]


def test_a_page_that_says_it_is_english_is_stemmed_as_what_it_is(web: World) -> None:
    assert set(paths_of_hits(web, "Haus")) == {"de/street", "lie"}
    assert "lie" in paths_of_hits(web, "Bürger Hafenstadt")


def test_snippets_and_marks_go_by_the_page_as_the_search_does(web: World) -> None:
    hit = web.search(Query("Haus Hafen")).hits[0]
    assert "Häuser" in hit.snippet
    marked = [hit.snippet[start:end] for start, end in web.occurrences(hit.snippet, "Haus")]
    assert marked == ["Häuser"]
    assert web.occurrences("हिन्दी भाषा", "हिन्दी") == [(0, 6)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the capital of the country", {"english"}),
        ("wo liegt der ort an der donau", {"german"}),
        ("où est la capitale du pays", {"french"}),
        ("die hard", {"dutch", "english", "german"}),
        ("berlin hotel", set()),
        ("", set()),
    ],
)
def test_the_language_of_a_query_is_guessed_by_its_stop_words(text: str, expected: set[str]) -> None:
    assert guess_languages(split_words(normalize_text(text))) >= expected
    assert bool(guess_languages(split_words(normalize_text(text)))) == bool(expected)


FREQUENCIES = {"haus": 20, "hauser": 1, "polit": 9, "politik": 3, "eisenbahn": 4, "streck": 3, "river": 7, "port": 7}


def reader(*stemmers: str) -> QueryAnalyzer:
    return QueryAnalyzer(dict.fromkeys(stemmers, 10), lambda term: FREQUENCIES.get(term, 0))


def test_a_word_has_one_reading_where_the_guess_is_sure_or_only_one_occurs() -> None:
    many = reader("english", "german", "french")
    assert many.count_readings("river port") == {("river",): 1, ("port",): 1}
    assert many.count_readings("Häuser") == {("haus",): 1}
    assert many.count_readings("Politik") == {("polit", "politik"): 1}
    assert many.count_readings("wo sind die Häuser der Politik") == {("haus",): 1, ("polit",): 1}
    assert many.count_readings("the Häuser for all") == {("the",): 1, ("hauser",): 1, ("for",): 1, ("all",): 1}


def test_a_compound_that_occurs_nowhere_is_its_parts_where_the_language_makes_them() -> None:
    many = reader("english", "german")
    assert many.count_readings("die Eisenbahnstrecke in der") == {
        **{(word,): 1 for word in ("die", "in", "der")},
        **{("eisenbahn",): 1, ("streck",): 1},
    }
    assert ("eisenbahn",) not in many.count_readings("Eisenbahnstrecke")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("what is the capital of the country", ["capit", "countri"]),
        ("wo liegt der ort an der donau", ["liegt", "ort", "donau"]),
        ("to be or not to be or", ["to", "be", "or", "not"]),
        ("river port", ["river", "port"]),
    ],
)
def test_stop_words_of_long_queries_go_by_language(text: str, expected: list[str]) -> None:
    both = QueryAnalyzer({"english": 10, "german": 10}, lambda term: 2 if term == "river" else 1)
    assert [readings[0] for readings in both.count_readings(text)] == expected
