"""Words that frame an answer: those that may stand around it, and those that take it back.

English first, with the commonest of German, French, Spanish and Italian.
"""

from __future__ import annotations

import re

HEDGE = re.compile(
    r"\b(?:maybe|perhaps|possib(?:ly|le|ility)|probabl[ye]|likely|unlikely|presumably|supposedly|allegedly"
    r"|reportedly|might"
    r"|may\s(?:be|have)|(?:could|would)\s(?:be|have|say)|let's\ssay|can\snot\sbe\ssure|guess(?:ed|ing)?|unsure"
    r"|uncertain|unclear"
    r"|not\s(?:entirely\s)?(?:sure|certain)"
    r"|doubt(?:ful)?|seems?|either|or\sso|or\selse|something\slike|somewhere\sin|some\s(?:say|sources)"
    r"|others\ssay|alternatively"
    r"|hypothetically|if|assuming|unless|depending|arguably|rumou?red|speculat\w*|wahrscheinlich|vielleicht|vermutlich"
    r"|möglicherweise|eventuell|peut-être|probablement|sans\sdoute|quizás?|tal\svez|posiblemente|forse|probabilmente"
    r"|either\sway|one\sof(?!\sthe\s(?:\w+est|most|first|few|main)\b)|among(?!\sthe\s(?:\w+est|most|first)\b)|any\sof|such\sas|e\.g\.|for\sexample|for\sinstance|et\sal|believed|attributed"
    r"|thought\sto|considered\sto|said\sto|ascribed|credited\sto)\b",
    re.IGNORECASE,
)
"""Words that leave an answer open."""
DENIAL = re.compile(
    r"\b(?:not|never|neither|nor|cannot|without|except(?:ing)?|excluding|hardly|scarcely|barely|no\slonger"
    r"|instead|rather"
    r"|unlike|opposed|contrary|anything\sbut|everyone\sbut|anyone\sbut|all\sbut|everything\sbut|nothing\sbut"
    r"|far\sfrom|wrong(?:ly)?"
    r"|incorrect(?:ly)?|false(?:ly)?|untrue|mistak\w+|myth|misconception|fail(?:s|ed)?|used\sto\sbe|formerly"
    r"|once\swas|previously"
    r"|denie[sd]|deny|refut\w+|reject(?:s|ed)|disproved|ruled\sout|aside|apart\sfrom|save\sfor|other\sthan"
    r"|nicht|kein\w?|niemals|sondern|statt"
    r"|falsch|jamais|ne\s|faux|nunca|jam[aá]s|falso|contradict\w*|pretend\w*|ohne|sans|sauf)\b|n't\b|\bn'est\b"
    r"|\bpas\b(?=\s\x01)|\bno\s(?:es|fue|era|son|fueron)\b"
    r"|\b(?:no|nope|nein|non)\b(?!\. ?\d)(?=[,.\s]*$|[,.!])|\x1a",
    re.IGNORECASE,
)
"""Words that take an answer back, and struck-out text."""
CORRECTION = re.compile(
    r"\b(?:actually|wait|correction|on\ssecond\sthought|scratch\sthat|i\smean|in\sfact"
    r"|then\sagain|although|though"
    r"|however|whereas|while(?!\s\w+ing\b)|but|yet|sino|sondern|mais|aber|pero|ma)\b",
    re.IGNORECASE,
)
"""Words that set one answer against another."""
RANK = re.compile(r"\b(?:second|third|fourth|fifth|next|2nd|3rd|\dth)[\s-](?:most|\w+est|to\slast)\b", re.IGNORECASE)
"""Rank below the first: "the second tallest"."""
INJECTION = re.compile(
    r"\b(?:judge|grader|grading|graders|evaluator|rewards?|full\smarks|instructions?|ignore|disregard|override"
    r"|system|assistant|verified"
    r"|award\s(?:it|this|me|full|points?|marks?|the)|accept\w*|mark\sth|marked|score\s?[:=]|correct|equals?|gold\sanswer|ground\struth|whatever|prompt"
    r"|must\sbe\sgraded|placeholder)\b"
    r"|\[mask\]|</?\w+>|[<[](?:answer|system|inst|user)\b|[{}|\\<>≤≥≠¬]|!=|=",
    re.IGNORECASE,
)
"""Words and signs that speak to who judges."""
POLITE = re.compile(
    r"(?i)\b(?:the\s)?(?:correct|right)\sanswer\s(?:is|was|would\sbe|:)|\bcorrect\sanswer:|\banswer\s?=\s?"
    r"|^[A-Za-z]{1,3} = (?=\x01)|^(?:it|this|that|the \w+) equals (?=\x01)"
)
"""Phrases that hold such a word and mean no harm."""
FUNCTION_WORDS = frozenset(
    "a an the this that these those it its it's he she they we i you his her their our my your there here is"
    " are was were"
    " be been being has have had do does did will would can of in on at by for from to with as into and or not no yes"
    " which who whom whose what when where why how so thus therefore hence then according based after before"
    " during since"
    " final answer result results response looking searching checking reading using per following given upon overall"
    " finally consequently accordingly specifically namely only just first both all most some every each one two three"
    " sure okay ok certainly indeed definitely clearly also sources source page pages article document"
    " wikipedia website"
    " der die das ein eine es er sie ist sind waren wurde wurden im in am von vom zu und laut nach dem den des"
    " le la les un une c'est ce il elle est était sont au aux du en par selon d'après l'auteur et"
    " el los las una es fue era son eran según por del y lo il lo gli di è che".split()
)
"""Words that name nothing, also with a capital at the beginning of a sentence."""
TITLES = frozenset(
    "dr doctor prof professor mr mrs ms mme mlle miss sir dame king queen emperor empress pope president"
    " prince princess lord lady"
    " count duke captain general colonel saint herr frau monsieur madame señor señora don doña tsar czar chancellor"
    " senator mayor governor judge archbishop bishop cardinal father mother sultan shah".split()
)
"""Titles before a name."""
SAFE_TITLES = frozenset(
    "dr doctor prof professor mr mrs ms mme mlle miss sir dame king queen emperor empress pope president herr"
    " frau monsieur madame"
    " captain general colonel senator chancellor tsar czar justice judge reverend rev coach sheikh".split()
)
"""Titles that may be added to a name or left out."""
COVERINGS = frozenset("covered coated plated mixed together along compared combined confused coupled".split())
"""Participles before "with" after which the main thing is another one."""
CONTINUATIONS = frozenset(
    "is was are were has had it he she they this that his her its who which did does will would can".split()
)
"""Words behind "and" or a semicolon that go on with another statement."""
COMPANIONS = frozenset(
    "others brothers sons sisters daughters friends partners associates colleagues children parents heirs".split()
)
"""Nouns behind "and" that name further people."""
CONTRARIES = (
    ("born|birth", r"die[sd]?\b|death|dead|buried"),
    ("open", "clos|shut"), ("found(?:ed|er)|establish", "dissol|disband|abolish"),
    ("began|begin|begun|start", "end(?:ed|s)?\\b|finish|ceas|expir|stop"), ("won\\b|win", "lost\\b|lose"),
    ("buil[dt]", "demolish|destroy|torn down"), ("married|marry|wedding", "divorc"), ("arriv", "depart|left\\b"),
    ("highest|tallest|largest|biggest|most", "lowest|smallest|shortest|least"), ("first", "last\\b|second|third"),
    ("oldest|earliest", "youngest|latest|newest"), ("maximum", "minimum"), ("north", "south"), ("mother", "father"),
    ("bought|buy|purchas", "sold|sell"), ("import", "export"), ("join|enter", "left\\b|leave|exit|withdr"),
    ("maximum|total|median|deepest", "average|mean\\b|per capita"), ("above", "below"), ("profit", "loss"),
    ("rise|rose|risen|increas|grew|grow", "fell|fall|declin|decreas|drop|shrank"), ("winner", "loser|runner"),
    ("predecessor|preced", "successor|succeed"), ("brother", "sister"), ("sons?\\b", "daughter"), ("east", "west"),
)  # fmt: skip
"""Pairs of contraries, as beginnings of words."""
DEMONYMS = frozenset(
    "welsh irish french german dutch swiss czech greek argentine cuban kenyan israeli iraqi asian roman"
    " icelandic deutscher deutsche britischer französischer us uk u.s soviet thai filipino kiwi catalan"
    " afghan slovak yemeni qatari omani kuwaiti emirati".split()
)
"""Adjectives of countries without a common ending, which name nothing else."""
_DEMONYM_END = re.compile(r"\w{3}(?:ian|ean|ese|ish|can|stani)$")


def is_demonym(words: str) -> bool:
    """True if folded words are an adjective of a country: "south korean"."""
    parts = [part for part in re.split(r"[- ]", words) if part not in ("north", "south", "new", "west", "east")]
    return bool(parts) and all(part in DEMONYMS or _DEMONYM_END.search(part) for part in parts)


RENAMED = frozenset("formerly then now previously originally born ne nee aka known".split())
"""First words of a bracket with another name of the same thing."""
COMPANY_FORMS = frozenset(
    "ltd limited inc incorporated llc gmbh ag corp corporation plc sa spa nv bv kg oy ab cf fc afc".split()
)
"""Endings of company names that may be added or left out."""
KIND_HEADS = frozenset(
    "city town village hamlet port capital state province region district county country republic kingdom"
    " island island's"
    " river lake mountain sea valley borough municipality commune parish year month day date date's total height length"
    " width depth weight age price cost sum number population speed temperature distance duration area size share"
    " percentage amount value fee rate average maximum minimum name title names family house firm company"
    " period span time count capacity elevation altitude mass volume diameter stadt dorf"
    " ville ciudad symbol process method phenomenon concept term word element gas metal language form colour"
    " color score version attendance budget revenue salary turnover"
    " colony possession dependency territory people consisting composed made comprised".split()
)
"""Nouns that may stand before "of" and the answer: "the city of Lima", "a height of 330 m"."""
NEUTRAL = frozenset(
    "stable large small big little tiny individual single common simple special local typical standard ordinary main"
    " famous popular well-known stray rare natural".split()
)
"""Adjectives that leave a common noun what it is."""
OF_HAZARDS = frozenset(
    "half third quarter part north south east west out ahead short instead multiple excess most one each side"
    " outskirts edge"
    " majority suburb end beginning start middle close week eve anniversary aftermath wake morning weekend"
    " fortnight".split()
)
"""Nouns before "of" after which a number is another one."""
PLACE_HAZARDS = frozenset(
    "near nearby outside beyond towards toward past around off behind beside besides opposite against"
    " versus vs like than unlike north south east west northern southern eastern western upper lower greater"
    " inner outer central suburban former late ex pre post anti pro non pseudo old new young junior senior"
    " half almost nearly approximately vice deputy acting another other called-off until till lost rejected"
    " replaced beat beats defeated defeats succeeded preceded borders bordering neighbours adjoins excludes"
    " resembles visited opposed rivals alias aka via minus plus neither hardly after before since until left"
    " fled leaving abandoned".split()
)
"""Words right before a name that make it another thing."""
NUMBER_HAZARDS = frozenset(
    "more less fewer over under above below least most almost nearly upwards between exceeding beyond within"
    " half double"
    " twice triple than before after until till maximum minimum barely roughly-half every per plus minus times another"
    " other extra additional last next mehr weniger über unter fast plus moins más menos mindestens höchstens"
    " earlier later beginning early late mid end through to".split()
)
"""Words right before a number that make it another one."""
APPROXIMATION = frozenset(
    "about approximately approx around roughly circa ca some etwa environ unos aproximadamente ungefähr".split()
)
"""Words before a number that leave its last digit open."""
DATE_HAZARDS = APPROXIMATION | frozenset(
    "before after until till by early late mid between from since c to than pre post".split()
)
"""Words right before a date that make it another one."""
COORDINATION = frozenset(
    "or and nor und oder et ou y o u e also alias aka plus versus vs then with without minus aside rather"
    " instead but though"
    " as-well possibly maybe perhaps while whereas sondern sino sowie nebst & / + ; |".split()
)
"""Words and signs between two answers."""
CONNECTORS = frozenset(
    "is are was were set run call pass try select specify be been being 's in at by on from to as into"
    " called named termed known of for with for: contains take takes took indicates shows signifies means"
    " mean denotes designates mined used found was: wins won has had have get got chose chosen choose use"
    " uses picked both only lautet ist war est était es fue era son sont sind waren been: via equals becomes"
    " became remains remained say says said states stated element substance metal colour color species"
    " animal material word term letter type kind language through and le la l' les der die das el los un une"
    " ein eine heißt".split()
)
"""Words that may stand right before an answer in small letters."""
FOLLOWERS = frozenset(
    "is are was were be been has had have in at by on from to as for of during since which who that where"
    " when because did does do wrote writes made built won wins founded founds led directed designed painted"
    " held took became becomes makes make gives gave got lies stands according per ist war hat wurde est a"
    " es fue was: during after before with* remains remained according hosts hosted hosting published"
    " publishes between came went served serves signed covers together respectively each long high tall wide"
    " deep old large away total altogether zusammen first then* too invented discovered created composed"
    " played plays sang starred worked works lived lives died born ran rose fell grew drew flew spoke told"
    " taught taught fought brought sought caught bore began ended opened closed set put cut hit spent sold"
    " bought sent lost kept left met paid read rode shot sat shook stood struck swam took thought threw"
    " understood wore beat ate broke chose drove forgot got went heard knew laid rang sank shone slept stole"
    " beats shot owns owned heads headed runs leads sings writes appears appeared stars remains may can will"
    " would could operates provides makes produces offers supports contains includes manufactures publishes"
    " absorbs located situated local sharp due owing thanks".split()
)
"""Words that may stand right behind an answer."""
INTRODUCTIONS = frozenset(
    "according based in after from so thus therefore hence yes looking as on at following per given upon"
    " overall finally"
    " sure certainly indeed okay ok well having searching checking laut selon según consequently specifically during"
    " for with by under since before throughout among today here currently now of".split()
)
"""First words of a clause that a comma parts from the answer."""
NUMBER_FOLLOWER_HAZARDS = frozenset(
    "or and to times squared cubed per each every apiece annually monthly yearly daily weekly more fewer"
    " less minus plus half points point short shy percentage divided multiplied alpha beta rc preview"
    " nightly snapshot bis thousand million billion dozen plus-or-minus".split()
)
"""Words right behind a number that make it another one."""
COUNTED = frozenset(
    "degrees inhabitants residents citizens members employees times copies units points kilometres"
    " kilometers miles metres meters seconds minutes hours days weeks months years dollars euros pounds"
    " items entries persons victims works pieces".split()
)
"""Nouns that may stand behind a number though the question says another one."""
EXCUSES = frozenset("sure certainly okay ok yes indeed of course great absolutely done here".split())
"""Words of a short sentence that is no answer."""
ANNOUNCEMENT = re.compile(
    r"(?i)(?:let\sme|i'll|i\swill|i\shave|i\ssearched|i\slooked|i\schecked|here\sis|here's|as\srequested)\b[^\d]{0,80}$"
)
"""Sentence that only says what comes or what was done."""
OPENINGS = frozenset(
    "four five six seven eight nine ten such lack deficiency set use run call pass actually apparently"
    " basically clearly currently definitely evidently eventually exactly finally generally historically"
    " initially notably obviously officially originally simply specifically technically traditionally"
    " ultimately looking searching checking reading using based located situated founded built written"
    " directed painted designed named called born composed created opened published released signed made"
    " produced played cannot couldn't can't don't didn't isn't wasn't unable unfortunately sorry however"
    " explanation reasoning note evidence reason context details justification quote confidence summary"
    " nothing none neither".split()
)
"""Adverbs and participles that open a sentence."""
ROLES = frozenset(
    "author writer painter composer director founder inventor architect engineer poet novelist singer actor"
    " actress chemist physicist scientist artist philosopher historian editor explorer politician"
    " mathematician astronomer biologist playwright musician sculptor photographer designer builder owner"
    " winner player footballer journalist economist botanist geologist surgeon lawyer merchant banker priest"
    " monk nun bishop abbot king queen mayor premier president minister chairman ceo nurse teacher professor"
    " company astronaut rapper guitarist drummer pianist violinist quarterback striker goalkeeper captain"
    " coach cyclist swimmer sprinter boxer golfer driver pilot entrepreneur programmer developer researcher"
    " diplomat activist critic translator screenwriter producer comedian dancer choreographer chef"
    " theologian linguist anthropologist archaeologist sociologist psychologist physician naturalist"
    " zoologist".split()
)
"""Nouns that may stand before a name and say what it is."""
ANSWER_FORM = re.compile(
    r"(?i)\b(?:answer|solution|result|antwort|réponse|respuesta)\s(?:is|was|must\sbe|should\sbe|lautet|ist|est"
    r"|es)\b|\banswer\s?:"
)
"""Statement that something is the answer."""
LABEL = re.compile(
    r"(?im)(?:^|(?<=[.!?]\s))[ \t#>-]{0,8}(?:(?:the|my|so|short|final|correct|direct|exact|therefore|thus|,)\s?){0,4}"
    r"(?:answer|antwort|réponse|respuesta|risposta)\s?(?:(?::|-|–|=|→)\s?|(?=\n))"
)
"""Label of an answer at the beginning of a line."""
