"""Word lists for the comparison of reports with pages: words without content, synonyms, irregular forms, cues.

English only. The lists are short on purpose: what they do not know must stand in the page word by word, up to
inflection, or is left to a judge.
"""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


FUNCTION_WORDS = _words(
    """a an the this that these those it its itself he him his she her hers they them their theirs we us our you
    your i me my one ones who whom whose which what when where how why there here and or but nor so if then than
    as at by for from in into of off on onto out over per to up upon with within without about above across
    after against along among amongst around before behind below beneath beside besides between beyond during
    except inside near outside since through throughout toward towards under until via while whereas whether be
    am is are was were been being have has had having do does did done doing can could may might must shall
    should will would let also both each every either neither any all some such same other others another only
    just even still yet already again ever more most much many very too quite rather not no never none nobody
    nothing nowhere down away everyone everybody anyone someone
    re cannot because due though although however therefore thus hence s t"""
)
"""Words that carry no content of their own; prepositions and negations are compared by their place."""
NEUTRAL_WORDS = _words(
    """according reported reportedly apparently seemingly possibly probably perhaps likely allegedly said say says
    states stated notes noted mentions mentioned describes described lists listed known called named namely
    about approximately approx circa ca roughly nearly almost around some exactly precisely total overall
    additionally moreover furthermore finally further addition meanwhile notably specifically particular
    particularly especially including include includes included also later now today currently present presently
    time times year years date dated took take taken takes place stand stands stood standing lie lies lay
    located situated sits based measure measures measuring came come become became get got remain remains way
    back use usually formerly former previously eventually subsequently well thereby respectively etc ie eg ad
    ce back home aged figure figures amount amounts amounted number numbers exact level type kind sort as such
    whole course cause caused causes undergo underwent suffered suffer feature features featured occur occurs
    occurred happen happens happened offer offers offered provide provides provided contain contains contained
    consist consists comprise comprises comprised possess possesses boast boasts total totals span spans spanned
    cover covers covering extends extend extended carried performed location diameter size aka"""
) - _words("figure later use described known home usually")
"""Words that a report may add to a passage without changing what it says."""
GENERIC_NOUNS = _words(
    """town city village place company firm business organisation organization institution building structure site
    facility species animal book novel work drug medicine product country community settlement municipality
    object project software system database programme library framework version edition release compound substance
    chemical liquid solvent mineral expedition collection accident incident event ship vessel film album band team club
    school university hospital monument park island lake bird plant battle war campaign election party association group
    festival language"""
)
"""Nouns that stand for the subject of a page after "the": "the town has 9,421 people"."""
LIGHT_VERBS = _words(
    """has have had is was were include included includes contain contained appear appeared appears follow followed
    follows bring brought brings introduce introduced introduces serve served serves work worked hold holds held go
    went gone see saw seen keep kept keeps put puts estimated developed develop develops experience experienced mean
    meant means involve involved involves result resulted results remain remained continue continued continues
    report reported reports require required requires led made recorded achieved reached set given called leave left
    carried show shows showed shown allow allows allowed enable enables enabled joined dated attributed dedicated
    spent based equipped associated related intended considered regarded recognised recognized honoured honored"""
)
"""Verbs that say little by themselves: what they stand with must be borne, they need not."""
FRAME_WORDS = _words(
    """report article overview summary summarise summarize introduction introduce conclusion conclude section
    following below above information info detail details fact facts key main point points page pages source
    sources website web search result results find found finding findings question answer answers short brief
    briefly text document list table describe describes described description present presents provide provides
    give gives given cover covers covered covering explain explains discuss look looks show shows write written
    sentence sentences plain name names dates date figure figures cite cited behind based sure course okay hello
    thanks thank hope helps help please let know note important interesting notable remarkable fascinating
    significant significance rich long clear picture history story legacy role part piece thing things person
    people subject topic aspect aspects example like good great nice useful available request requested research
    researched compiled opened read draw drawn together take closer everything complete full further ref refs
    aspect reading more reference references bibliography citation citations end bottom line title number
    different related relevant background context empty many said general interest"""
)
"""Words of openings and closings. A sentence of these and of words of the question alone states no fact."""
TOPIC_WORDS = FRAME_WORDS | _words(
    """early late later life career death birth family education origin origins beginning foundation founding
    founder founders construction builder building design designer architect architecture opening closure
    closing location geography area population mayor economy trade transport traffic size dimensions dimension
    measurement measurements height length width weight cost costs price prices year years date time period
    duration place owner owners ownership use usage uses today current currently now present leadership
    management leader leaders head chief headquarters finance finances financial revenue sales growth employee
    employees staff workers products product acquisition acquisitions merger mergers reception critics criticism
    review reviews award awards adaptation adaptations film translation translations publication publisher
    published author authorship writing plot content setting impact influence effects effect side safety risk
    risks efficacy effectiveness evidence trial trials dose dosage administration discovery discoverer approval
    production withdrawal market status appearance habitat range diet food feeding reproduction breeding breed
    eggs conservation protection threats threat decline taxonomy classification discovered described timeline
    chronology chronicle events event technical specification specifications data statistics property properties
    attribute value item items parameter feature features field category statement claim detail outcome losses
    casualties cause causes course aftermath consequences consequence participants commander commanders forces
    parties terms treaty agreement war battle siege conflict fire damage destruction restoration museum tower
    towers town city village bridge mill book company firm engineering engineer professional personal private
    public administrative administration government politics culture tourism religion climate nature environment
    science method methods analysis comparison similarities differences difference common other further
    additional basic basics essential essentials quick glance takeaway takeaways highlights core profile
    biography equipment operator operation facilities facility staff team structure organisation organization
    executive health environmental incident incidents accident accidents biology ecology politics governance
    organization
    commercial corporate legal social physical chemical technical military political economic cultural scientific early
    late key core results record records achievements achievement honours honors recognition works work writings
    release releases version versions features performance benchmark benchmarks support compatibility licence license
    licensing upgrade upgrades community users adoption background prelude aftermath origins etymology naming
    description taxonomy behaviour behavior life cycle lifecycle habits song calls predators population status
    uses applications synthesis manufacture industrial exposure toxicity hazards hazard handling storage fire first
    aid regulation regulations limits limit discovery isolation spill spills leak environment
    expedition expeditions journey journeys travel travels collection collections herbarium bequest memory
    commemoration namesakes marriage children parents ancestry youth studies training teaching retirement old age
    engineering materials cost opening traffic toll tolls closure repairs renovation reconstruction dimensions span
    ownership headquarters brands markets competitors lawsuits lawsuit controversy controversies scandal scandals
    crisis recovery bankruptcy litigation lawsuits dispute disputes war wartime postwar damage growth decline
    revival crash
    myths legends misconceptions numbers statistics patents inventions awards partners staff turnover short long answer
    winner losers runner-up runner seats share leadership observers observation fairness integrity
    candidates candidate campaign result turnout polling voting seats coalition polls voters electorate
    founding names admission identity description figures physical characteristics characteristic material
    materials visitors access service services operation operations development expansion modern first second
    third final last new old"""
)
"""Words of headings and labels. One of these and of words of its section alone states no fact."""
UNIT_WORDS = _words(
    """metre kilometre centimetre millimetre mile foot feet inch yard gram kilogram milligram mg tonne ton litre
    hectare acre percent euro dollar pound crown thaler franc krone kroner krona rouble yen rupee peso cent degree
    hour minute second day week month year
    kilometre2 metre2 metre3 centimetre3 kilometre3 kilobyte megabyte gigabyte terabyte ppm mi2 km2 m2 watt kilowatt
    megawatt volt"""
)
"""Words that follow a number and say nothing without it."""
UNIT_SIGNS = {
    **{"m": "metre", "km": "kilometre", "cm": "centimetre", "mm": "millimetre", "mi": "mile", "ft": "foot"},
    **{"kg": "kilogram", "g": "gram", "t": "tonne", "ha": "hectare", "km2": "kilometre2", "m2": "metre2"},
    **{"KB": "kilobyte", "MB": "megabyte", "GB": "gigabyte", "TB": "terabyte", "cm3": "centimetre3"},
    **{"cm³": "centimetre3", "m3": "metre3", "m³": "metre3", "km³": "kilometre3", "km3": "kilometre3"},
    **{"km²": "kilometre2", "m²": "metre2", "l": "litre", "mg": "milligram", "h": "hour", "min": "minute"},
}
"""Signs of units, read as such directly behind a number."""
CURRENCY_SIGNS = {"$": "dollar", "€": "euro", "£": "pound"}
NUMBER_WORDS = {
    word: number
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
        " seventeen eighteen nineteen".split()
    )
} | {word: 10 * n for n, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), 2)}
ORDINALS = {
    word: number
    for number, word in enumerate(
        "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth"
        " fourteenth fifteenth"
        " sixteenth seventeenth eighteenth nineteenth twentieth".split(),
        1,
    )
}
SCALE_WORDS = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12}
MONTHS = "january february march april may june july august september october november december".split()

_IRREGULAR = """
    build built builder builders|write wrote written writer|sell sold sale sales seller|buy bought buyer|
    lead led leader|win won winner|hold held|fall fell fallen|rise rose risen|lose lost loss losses|leave left|begin
    began begun|make made maker makers|give gave given|speak spoke spoken|take took taken|know knew known|grow
    grew grown growth|draw drew drawn|withdraw withdrew withdrawn|run ran|come came|go went gone|say said|see
    saw seen|send sent|spend spent|stand stood|strike struck stricken|sing sang sung|swim swam|steal stole
    stolen|break broke broken|choose chose chosen|drive drove driven|eat ate eaten|feed fed|fight fought|fly
    flew flown|forbid forbade forbidden|meet met|pay paid|read|ride rode ridden|set|shoot shot|sink sank
    sunk|sit sat|teach taught teacher|tell told|think thought|throw threw thrown|wear wore worn|bear bore born
    birth birthplace|die died dies death dead dying|describe description|destroy destruction|acquire acquisition|produce
    production producer product|publish publication|found founded founder founders foundation founding|close
    closure|long length longer|high height higher|wide width wider|deep depth|own owner owners owned|use used
    user|live lived lives|person people persons|man men|woman women|child children|foot feet|bury buried
    burial|marry married marriage|house housed houses housing|employ employment employee employees|choose
    choice|translate translation translations|move movement|cure|defend defense defence|lay laid|lie lain
    lying|flee fled|freeze froze frozen|hang hung|hide hid hidden|lend lent|seek sought|shake shook shaken|shrink shrank
    shrunk|stick stuck|sweep swept|swear swore sworn|tear tore torn|weave wove woven|breed bred|become became|hear
    heard|overcome overcame|undertake undertook|deal dealt|dig dug|get got|blow blew blown|bring brought|catch
    caught|keep kept|sleep slept|win|burn burnt burned|rebuild rebuilt|reach|cede
    ceded cession|sign signed signature|open opened opens opening"""
IRREGULAR_FORMS = {word: group.split()[0] for group in _IRREGULAR.split("|") for word in group.split()}
"""First form of a word by each of its irregular forms."""

_SYNONYMS = """build construct erect make manufacture manufacturer produce assemble|found establish create|begin start
    commence launch initiate|end finish conclude cease terminate|open inaugurate|close shut|buy acquire
    purchase|population inhabitant resident person live reside|lead head direct run operate manage administer
    oversee|high tall|move relocate transfer shift|fall decline decrease drop shrink|rise increase grow
    climb|hurt injure wound|die perish|write author pen|publish release issue|win receive award earn
    obtain|big large|small
    little|worker employ staff|design architect|use serve function|law legal|annual yearly|daily day|weekly
    week|monthly month|movie film|mainly chiefly mostly primarily|main primary principal|besiege siege|soldier
    troop|house home host accommodate|approve authorise authorize license|combat fight|tablet pill|prison
    jail|insect beetle|because due owing|public visitor tourist|damage harm|destroy ruin demolish wreck
    devastate|repair restore renovate refurbish|rebuild reconstruct|attack assault|defeat beat|surrender
    capitulate|capture seize conquer|connect link join|cross traverse|show display exhibit|allow permit
    admit|forbid prohibit ban|cost price|revenue turnover|wide broad|weigh weight heavy|old age|north
    northern|south southern|east eastern|west western|usual typical normal standard|famous renowned|feed
    eat|withdraw remove|trial test|critic reviewer|country nation|conflict war|treaty agreement pact|fire
    blaze|earthquake quake|railway railroad|lack shortage|company firm|drug medicine|novel book|brother
    sibling|discover detect"""
SYNONYM_GROUPS = tuple(tuple(group.split()) for group in _SYNONYMS.split("|"))
"""Words that a report may use for each other."""

NEGATIONS = _words(
    """not no never none nobody nothing nowhere neither nor without cannot hardly barely scarcely fail refuse lack
    unlike instead zero nope"""
)
"""Words that negate what follows in their clause."""
DENIALS = _words(
    """untrue false falsely myth deny denial denied contrary misconception incorrect incorrectly wrong wrongly
    refute disprove hoax fiction fake fabricated debunked invented doubt doubtful lie mistaken mistakenly
    erroneous erroneously rejected unfounded baseless not-true fabrication falsehood untruth"""
)
"""Words that deny what their sentence says."""
UNREAL_CUES = _words(
    """planned plan plans propose proposed intend intended would will rumour rumor rumours rumors legend allegedly
    supposedly alleged claim claims claimed might expected cancelled canceled if supposed purportedly
    unconfirmed abandoned hypothetical recommended recommends suggested prevented stopped stop halted blocked allegation
    allegations expects hoped demanded postponed"""
)
"""Words by which a page says that something is no established fact. A claim must keep one of them."""
HEDGES = _words(
    "may might could reportedly allegedly possibly perhaps probably likely apparently supposedly said seem seems"
)
BE_FORMS = _words("is are was were be been being am")
AUXILIARIES = BE_FORMS | _words("has have had does do did can could may might must shall should will would cannot")
DETERMINERS = _words("a an the his her its their our this that these those no every each")
SUBJECT_PRONOUNS = _words("it he she they this these who which that")
PRONOUNS = _words("it he she they this these that its his her their there")
CLAUSE_WORDS = _words("and but while whereas which who whose where when although though or")
"""Words that open a clause."""
