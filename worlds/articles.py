"""Sentences of the encyclopedia, in one bank per kind of entity and part of the article.

Templates are those of `prose.py`; the values of slots are HTML.
"""

TOWN_LEAD = (
    "<b>{name}</b> is a town in the region of {region}, {country}.",
    "<b>{name}</b> is a town in {country}, in the region of {region}.",
    "<b>{name}</b> is a [market town|municipality] in {region}, a region of {country}.",
)
TOWN_RIVER = ("The {river} flows through {name}.", "{name} lies on the {river}, which flows through the town.",
              "The {river} flows through the town [from east to west|in two arms|in a wide bend].")  # fmt: skip
TOWN_DRY = ("No river runs through {name}; its water [comes from springs in the hills|has been piped in since 1903].",
            "The town stands on a [dry plateau|ridge between two valleys], away from any larger river.")  # fmt: skip
TOWN_PEOPLE = (
    "At the 2021 census it had a population of {population}.",
    "The population of {name} was {population} at the 2021 census.",
    "According to the 2021 census, {population} people live in {name}.",
)
TOWN_MAYOR = (
    "The mayor of {name} is {mayor}, in office since {since}.",
    "Since {since} the mayor of {name} has been {mayor}.",
    "{mayor} has been the mayor of {name} since {since}.",
)
TOWN_FORMER = ("The previous mayor of {name} was {former}.", "{former} was mayor of {name} [before that|until then].")
TOWN_HISTORY = (
    "{name} is first mentioned in [a deed|a monastery charter|a toll register] of {mentioned}.",
    "The name appears for the first time in {mentioned}, in [a list of tithes|the will of a merchant|a charter].",
)
TOWN_PAST = (
    "For centuries its wealth came from {trade}, and the guild of that craft sat on the council until {y1}.",
    "In the {c} century the place grew rich on {trade}.",
    "A fire in the 1790s destroyed [most of|nearly half of] the old houses; the present street plan dates from the rebuilding.",
    "The walls were pulled down in the 1840s to make room for the railway station.",
    "During the nineteenth century {trade} gave work to more than half of the households.",
    "The railway reached {name} in {y2}, and with it came the first factories.",
    "It was besieged [twice|for eleven weeks] during the wars of the seventeenth century but never taken.",
    "After the last [workshops|mills] closed in the 1970s many families moved away, and the town only slowly recovered.",
    "A grammar school was endowed in 1811 by the widow of a magistrate.",
    "Market rights were confirmed soon afterwards, and the Thursday market is still held.",
)
TOWN_SIGHTS = (
    "The best known sight is {sight}.",
    "Visitors come above all for {sight}.",
    "{name} is known for {sight}.",
    "Its landmark is {sight}, which also appears in the coat of arms.",
)
TOWN_LIFE = (
    "The municipality covers {area} km², including [several hamlets|large woods|three former villages].",
    "The region is known for {trait}.",
    "The bells of the parish church are still rung by hand.",
    "The local dialect differs from that of neighbouring places in its long vowels.",
    "The town runs [two swimming pools|a music school|its own small power station] and a [public library|theatre without a permanent company].",
    "Trains to the regional capital {capital} run [every hour|every thirty minutes|six times a day].",
    "Its football club plays in the regional league.",
    "Most people who work commute, [many of them to {capital}|chiefly by train].",
)
PERSON_LEAD = (
    "<b>{name}</b> (born {born} in {place}) is {occ}.",
    "<b>{name}</b>, born on {born} in {place}, is {occ}.",
    "<b>{name}</b> (* {born}, {place}) is {occ}.",
)
PERSON_LEAD_PAST = ("<b>{name}</b> (born {born} in {place}; died {died}) was {occ}.",)
PERSON_BIRTH = (
    "{surname} was born in {place} on {born}, the [second|eldest|youngest|only] child of {father} and {mother}.",
    "Born in {place} on {born}, {surname} grew up [above a shop|with two brothers|near the railway yards|in modest circumstances].",
    "{surname} was born on {born} in {place}, where {his} family had [run a bakery|lived for generations|kept an inn].",
)
PERSON_SCHOOL = (
    "{He} studied at the {school}[, graduating with distinction|, where {he} first met lasting friends|].",
    "{He} was educated at the {school}.",
    "After school {surname} studied at the {school}.",
    "A scholarship took {him} to the {school}, where {he} studied until {y}.",
)
PERSON_WORK = (
    "{surname} works for {employer}.",
    "Since {y2} {he} has been employed by {employer}.",
    "{He} is on the staff of {employer}.",
)
PERSON_LIFE = (
    "In interviews {he} has spoken of {his} [debt to an early teacher|love of long walks|fear of flying].",
    "{surname} is [married and has two children|divorced|the parent of twins] and lives [in the country|near {place}|in an old schoolhouse].",
    "{He} collects [railway timetables|old maps|wind-up toys] and has lent part of the collection to museums.",
    "A [street|school hall|rowing boat] in {place} bears {his} name.",
    "Colleagues describe {him} as [patient and exact|witty but private|stubborn in the best sense].",
    "{He} received an honorary [degree|medal] in {y3}.",
    "{surname} speaks [four languages|three languages and plays the viola].",
    "A longer illness kept {him} from public life for [most of a year|two years].",
    "{He} sits on the board of [a children's charity|a local museum|a nature trust].",
)
CRAFT: dict[str, tuple[str, ...]] = {
    "politician": ("{He} entered local politics through [a tenants' association|the school board|the fire brigade].",
                   "Before politics {surname} worked as [a teacher|a vet|a notary|an electrician].",
                   "{His} programme gave priority to [housing|bus services|the repair of schools]."),
    "entrepreneur": ("{He} began by [repairing radios|selling at fairs|importing tools] and founded {his} own firm soon afterwards.",
                     "{surname} holds [nine|several|more than twenty] patents.", "{He} handed daily business to a board in {y3}."),
    "novelist": ("{His} prose has been praised for its [dry humour|long, patient sentences|sense of place].",
                 "{surname} wrote {his} first stories for a [school magazine|railway newsletter].", "{His} books have been translated into [nine|fourteen|six] languages."),
    "film director": ("{He} prefers [natural light|amateur actors|long takes] and small crews.", "{surname} learned the trade as [a clapper loader|an editor of newsreels].",
                      "{His} first short was shown at a student festival."),
    "architect": ("{surname} is known for [brick vaults|timber roofs|sparing use of concrete].", "{He} opened an office of {his} own at the age of thirty.",),
}  # fmt: skip
SCIENCE = (
    "{His} work deals with {topic}.",
    "{surname} is best known for studies of {topic}.",
    "{He} has published widely on {topic}.",
)
ART = (
    "{surname} came to wider notice with [a performance|a prize|an appearance] in {y3}.",
    "{He} has taught summer courses for many years.",
)
COMPANY_LEAD = (
    "<b>{name}</b> is {industry} company headquartered in {town}, {country}.",
    "<b>{name}</b> is {industry} manufacturer with headquarters in {town}, {country}.",
    "<b>{name}</b>, headquartered in {town}, {country}, is {industry} company.",
)
COMPANY_FOUND = (
    "It was founded in {founded} by {founder}.",
    "{founder} founded the company in {founded}.",
    "The company was founded by {founder} in {founded} in [a former dairy|a rented garage|the back room of a shop].",
)
COMPANY_STAFF = (
    "It employs {employees} people.",
    "{name} employs about {employees} people[, most of them at its main site|].",
)
COMPANY_PAST = (
    "The first product was [sold at country fairs|a commercial failure|copied by competitors within a year].",
    "In {y1} the firm moved into the building it still occupies.",
    "A strike in {y2} lasted [nine days|three weeks] and ended in a shorter working week.",
    "Exports began in {y1}.",
    "One night in {y3} a fire destroyed the [paint shop|warehouse], but production resumed within weeks.",
    "Part of the shares is held by its employees.",
    "Rising material costs forced it to close a branch factory in {y2}.",
    "Apprentices are trained in a workshop of their own.",
    "The firm's logo, [a heron|a stylised wave|three dots], was drawn by an apprentice.",
    "Since {y3} all electricity used in production has come from [hydropower|its own roof].",
)
PRODUCT_LEAD = ("<b>{name}</b> is {what} made by {company}.", "The <b>{name}</b> is {what} manufactured by {company}.")
PRODUCT_YEAR = (
    "It was introduced in {year}.",
    "{company_plain} introduced it in {year}.",
    "Introduced in {year}, it [replaced an older model|opened a new line].",
)
PRODUCT_MORE = (
    "Reviewers praised its [quiet operation|solid build|simple controls] but found the [manual confusing|price high|cable too short].",
    "The housing is made of [recycled aluminium|beech and steel|glass-filled nylon].",
    "Spare parts are [guaranteed for ten years|sold singly].",
    "Later units have [a better switch|a stronger hinge|new firmware].",
    "It won a regional design award.",
    "The design is the work of [an in-house team|two students on placement].",
    "It weighs {kg} kg and comes in [two|three|four] colours.",
    "Collectors distinguish early examples by their [serial plates|green feet].",
)
WORK_LEAD = (
    "<b>{name}</b> is {kind} by {maker}, {verb} in {year}.",
    "<b>{name}</b> is {kind} by {maker}. It was {verb} in {year}.",
)
WORK_BY = (
    "It was {made} by {maker}.",
    "{maker} {did} it [over three winters|in less than a year|after a long silence].",
)
WORK_PLOT = ("It tells of {theme}.", "The story concerns {theme}.", "At its centre is {theme}.")
WORK_PLACE = (
    "It is set in {town}.",
    "Much of the action takes place in {town}.",
    "The setting is {town} [in the 1950s|between the wars|in the present day].",
)
WORK_MORE = (
    "Critics admired its [restraint|comic timing|refusal of easy answers].",
    "Some reviewers found the [middle part slow|ending abrupt|many names hard to follow].",
    "The title refers to [a line in a folk song|an inscription over a door|a remark by the main character's aunt].",
    "It has been [adapted for radio|translated twice|discussed in several school curricula].",
    "The first [run|edition] sold out within [weeks|days].",
    "An exhibition about its making was held ten years later.",
    "The narrator is never named.",
    "A planned sequel was abandoned.",
    "Its structure follows the [twelve months of a year|stations of a railway line|chapters of a cookery book].",
)
WORK_PRIZE = ("It won the {prize} in {py}.", "In {py} it was awarded the {prize}.", "It received the {prize} for {py}.")
PRIZE_LEAD = (
    "The <b>{name}</b> is {kind} awarded every year in {town}.",
    "The <b>{name}</b>, awarded every year in {town}, is {kind}.",
)
PRIZE_MORE = (
    "It was established in {year}.",
    "The prize was established in {year} [by a bookseller|by a foundation|from a bequest].",
    "The jury of [five|seven|nine] changes every [year|second year].",
    "The winner receives [a small bronze|a hand-bound folder|a purse and a bronze] and a dinner.",
    "It has been given in two years to works that later fell out of favour.",
    "The ceremony takes place in autumn.",
)
LANDMARK_LEAD = (
    "The <b>{name}</b> is {what} in {town}, {country}.",
    "The <b>{name}</b> is {what} that stands in {town}, {country}.",
)
LANDMARK_OPEN = (
    "It was opened on {opened}.",
    "It opened on {opened} [after four years of building|a year late|with a public holiday].",
)
LANDMARK_BY = ("The design is by the architect {architect}.", "It was designed by {architect}.")
LANDMARK_MORE = (
    "Building costs rose to [twice|three times] the first estimate.",
    "Its roof is covered with [zinc|larch shingles|copper].",
    "Guided tours are held [on the first Sunday of the month|in summer|on request].",
    "The [lighting|pavement|ironwork] was renewed after [a storm|ten years].",
    "Local people call it [the Comb|the Bread Bin|the Whale|the Accordion].",
    "A competition for the design drew [41|63|118] entries.",
    "The [foundation|east wing] rests on oak piles of an older building.",
)
FESTIVAL_LEAD = (
    "The <b>{name}</b> is a yearly event held in {town}, {country}, every {month}.",
    "The <b>{name}</b> takes place every {month} in {town}, {country}.",
)
FESTIVAL_MORE = (
    "It was first held in {since}.",
    "First held in {since}, it was at first [a church fete|a meeting of friends|a single afternoon].",
    "Entry is free except for [the final evening|the grandstand].",
    "It opens with [a drum roll from the tower|a procession of children|a shared breakfast].",
    "About [200|350|80] volunteers take part.",
    "The poster is chosen by [schoolchildren|lot].",
    "The organisers are a registered association.",
)
UNIVERSITY_LEAD = (
    "The <b>{name}</b> is a public university in {town}, {country}.",
    "The <b>{name}</b> is a university located in {town}, {country}.",
)
UNIVERSITY_MORE = (
    "It was established in {year}.",
    "Its rector is {rector}.",
    "It has about {students} students.",
    "It is noted for {strength}.",
    "The main building was [a convent|a barracks|a grain store] until the nineteenth century.",
    "The library holds [one|two] million volumes.",
    "Its botanical garden is open to the public.",
    "The student choir was founded between the wars.",
)
RIVER_LEAD = (
    "The <b>{name}</b> is a river in {country}, {length} km long.",
    "The <b>{name}</b> is a river of {country} with a length of {length} km.",
)
RIVER_MORE = (
    "It rises at {source} and flows into {mouth}.",
    "Its source is {source}; it ends in {mouth}.",
    "Towns on its banks are {towns}.",
    "Timber was rafted on it until [1938|1951|1910].",
    "Otters and [sturgeon|salmon|crayfish] have returned since the water became cleaner.",
    "The highest flood on record was that of [1954|1997|2002].",
    "The lower course is navigable for small craft.",
)
REGION_LEAD = (
    "<b>{name}</b> is a region of {country}. Its capital is {capital}.",
    "<b>{name}</b>, with its capital {capital}, is a region of {country}.",
)
REGION_MORE = (
    "It covers {area} km² and has {population} inhabitants.",
    "It is known for {trait}.",
    "The regional assembly meets [in a former mint|four times a year].",
    "Its borders were last changed in [1921|1952|1974].",
    "The landscape falls from [hills in the north|uplands in the west] to [a plain|marshes].",
)
COUNTRY_LEAD = ("<b>{name}</b> is a country of {population} inhabitants. Its capital is {capital}.",)
COUNTRY_MORE = (
    "It has been independent since {year}.",
    "The president is {president}.",
    "The currency is the {currency}.",
    "It is divided into regions: {regions}.",
    "Parliament has a single chamber.",
    "Shipping, machinery and timber are the main exports.",
)
