"""Classes of verbs and of the nouns made of them: a report may use one for another where names and figures agree.

The classes are wide, and a word may stand in several. Words of no class must stand in the page themselves.
"""

from __future__ import annotations

from collections.abc import Iterable

from webemu.rl.reports.words import stem

_CLASSES = """
lower launch boat|rust rusty|emigrate emigration flee flight exile|turn refuse reject decline down|begin start open
commence enter business operate operation found establish set create launch initiate originate form emerge introduce
founder founding origin beginning incorporate|make build construct create produce develop design write compose draw
manufacture publish release assemble rewrite craft author paint print erect issue appear prepare compile
record|publish release appear issue launch announce available unveil follow debut premiere arrive publication
introduce ship come|find discover isolate identify detect describe show prove determine settle reveal demonstrate
confirm establish observe recognise conclude resolve solve clarify obtain|describe list identify recognise document
catalogue record classify name characterise index inventory|end close withdraw finish cease final last stop dissolve
abolish terminate drop discontinue retire expire annul divorce shut retirement closure conclude scrap|get receive
obtain gain earn win award take acquire collect gather honour confer complete secure graduate attain pick grant
recognise recipient bestow hold|buy acquire purchase take acquisition takeover buyer|sell sale acquire buy purchase
buyer|pay award give bequeath leave donate grant provide fund present hand finance contribute sponsor donation will
bequest support contribution offer|move go travel set run flow enter reach arrive cross leak spill pour relocate
transfer journey come return escape discharge release end|derail leave jump come slip|step resign quit leave down flee
evacuate depart go exit abandon told order evacuation departure|reduce cut decrease fall decline drop lower shrink
limit lessen down|limit restrict permit allow cap set exceed expose exposure permissible maximum most|improve raise
rise increase grow climb expand boost gain|improve speed faster accelerate quick quicker|slow slower delay|lead head
run govern direct coordinate chair manage oversee command administer control supervise leader leadership|study train
learn attend graduate educate enrol read education training degree doctorate student|work teach serve employ act
career job instruct lecture teacher|live reside dwell inhabit settle home move|keep hold house store preserve contain
locate stay display situate lie stand maintain remain sit|include contain comprise consist have feature hold count
number cover encompass carry span run|damage destroy wreck ruin burn flood harm devastate gut suffer lose hit affect
spoil|lose loss vanish disappear perish miss|sink founder go down under|survive survivor save rescue alive
live|install fit mount equip installation|halt stop suspend block|lawsuit suit sue action court|collide collision
strike hit crash|remain leave left survive stay|juvenile young larva fry|aboard board|blame find fault|area range
territory region habitat|save protect rescue|vanish disappear disappearance gone decline|ignore disregard despite warn
warning|think believe estimate put suppose|excessive fast speed|fishing catch fisherman|gravel stone|overturn capsize
tip flip|attract see draw watch viewer spectator people audience visitor|screen show broadcast air|eradicate
exterminate eliminate remove rid|shoot shooting film|want demand ask request insist|remove cut delete|person people
viewer spectator guest customer reader|camera cameraman photograph|peak summit top mountain|population number
pair|release come out|star lead part role play|screenplay script write|recover grow rise|premiere perform stage play
hear debut first performance|emigrate flee escape go flight exile leave|expel throw out dismiss remove|supply write
provide author deliver|play music pianist piano musician|conduct baton conductor|modernise renew replace upgrade
refurbish renovate renewal modernisation replacement|abandon give plan scrap cancel drop|dismantle take down
disassemble|resettle relocate displace evacuate rehouse|depend need rely|main chief key headline important
principal|novelty feature new|output capacity power produce generate production yield|surrounding near|call name
describe headline|head director lead direct chief|cooperate collaborate|match game fixture play|score goal
point|population inhabitant people|hire recruit engage|school pupil student|inspire influence base|name rename|wide
span|sign contract agreement deal|agree accept|research study|patient case|side effect|student pupil|medicine drug
treatment|illness disease sickness|fund finance pay money cost|collapse give fall way break|restart resume reopen
restore|focus concentrate specialise turn|hear admit accept consider|thesis dissertation doctorate doctoral|cancer
carcinogenic tumour|harmful toxic poisonous|displace oust|myth legend rumour|unchanged change same|medal prize award
honour win gold|combine together join total|train doctor physician medicine|quarrel dispute argument row
disagreement|week day month year decade|freight goods cargo|victory win triumph|job post office position term|kill
lose die death perish dead fatal fatality casualty lethal|fatality death kill die|hurt injure wound harm injury
irritate irritation irritant|change replace rewrite displace supersede substitute swap drop switch favour convert
rework overhaul alter modify transform give|say rule judge decide hold call describe state report mention claim name
note explain write account record tell add put announce declare|criticise dismiss attack condemn deride reject|reject
refuse decline deny dismiss turn|allow permit let enable admit can make possible support|forbid ban prohibit bar|need
require must order oblige have necessitate take demand|use employ utilise serve apply deploy run user rely
usage|degrade biodegrade break decompose biodegradable degradation biodegradability decay|cause lead trigger result
produce blame due because responsible attribute induce bring reason|treat cure|join take participate part member
accompany enlist attend|marry wed husband wife spouse marriage|bear birth born bring native|die death pass dead perish
succumb|grow grew raise bring up childhood|bury grave rest inter burial|calculate estimate put reckon amount total
assess value worth|cost pay spend price expense worth amount sum budget fund|carry transport haul bear ship convey
load|travel move go run drive speed|accident crash derail collide incident derailment collision leave|load import read
ingest|store keep hold stock storage|mix dissolve soluble miscible solubility blend|react polymerise reaction|smell
odour scent aroma|defend protect guard hold garrison|attack assault storm besiege siege raid bombard invade|capture
take seize conquer occupy fall surrender|defeat beat win rout victory overcome vanquish triumph|fight battle combat
clash|vote elect ballot choose poll win election|appoint name elect make choose select nominate become|succeed follow
replace successor take|open inaugurate unveil launch opening inauguration complete finish|complete finish end conclude
completion ready|renovate restore repair refurbish rebuild modernise reconstruct overhaul renovation restoration
reconstruction|demolish raze tear dismantle pull destroy remove|connect link join span cross carry bridge|name call
know title dub term rename honour commemorate|weaken soften damage attack|extinguish put fight|extract obtain distil
isolate get derive|measure stand reach rise tall height long length extend stretch have|weigh mass weight|breed nest
reproduce spawn lay mate raise|eat feed consume prey diet hunt|inhabit live occur range native find grow dwell
habitat|threaten endanger risk threat danger hunt|victim worker labourer|meet see encounter|quarrel dispute argue
disagree disagreement fall conflict clash speak row|search look hunt seek|wait pause delay|map survey chart
measure|plan intend propose design schedule|reduce shorten|extend lengthen expand enlarge widen prolong|register
record base headquarter|own possess belong hold owner|employ staff worker hire employee workforce|vary range
differ|advise recommend suggest|retain retention keep hold store|add introduce available support|hatch emerge|snap
break fail failure|crash run collide strike|electrify electric|power drive|turn decline refuse|list listing public
float|test trial study examine experiment investigate|approve authorise license clear approval permission sanction|ask
request order place demand apply application seek
"""
_CLASS_BY_STEM: dict[str, set[int]] = {}
for _number, _line in enumerate(_CLASSES.split("|")):
    for _word in _line.split():
        _CLASS_BY_STEM.setdefault(stem(_word), set()).add(_number)
_HARD = frozenset(
    map(
        stem,
        """destroy damage wreck ruin burn flood kill die dead murder hurt injure wound harm reject refuse criticise
        dismiss attack condemn forbid ban sell steal rob forge poison lose fall rise increase decrease
        reduce drop shrink raise cut buy acquire close abolish dissolve defeat beat capture conquer seize
        surrender marry divorce bury demolish dismantle raze threaten cure cause shoot jail imprison arrest
        bribe blackmail betray deceive cheat spy haunt curse explode collapse sink crash bomb invade win
        withdraw cancel resign fire sue accuse convict fine deny praise support oppose approve secret stolen
        fake false fraud thief criminal prison crime guilty scandal corrupt corruption drunk drug abandon
        vanish disappear flee invent rig smuggle kidnap rape assassinate execute hang torture male female
        biggest largest smallest oldest newest longest shortest tallest highest lowest""".split(),
    )
)
"""Stems that a passage must have, themselves or by another of their class."""


def share_class(key: str, stems: Iterable[str]) -> bool:
    """True if one of several stems has a class in common with a stem."""
    classes = _CLASS_BY_STEM.get(key)
    return classes is not None and any(not classes.isdisjoint(_CLASS_BY_STEM.get(other, ())) for other in stems)


def is_hard(key: str) -> bool:
    """True if a stem says something that nobody would say in other words: to destroy, to steal, to rise or to fall."""
    return key in _HARD


def is_classified(key: str) -> bool:
    """True if a stem has a class, so that what it may stand for is known."""
    return key in _CLASS_BY_STEM
