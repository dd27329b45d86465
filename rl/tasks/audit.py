"""Audit of a user's own questions: which of them a collection can answer, and what must be crawled for the others."""

from __future__ import annotations

import asyncio
import csv
import io
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal, get_args

from webemu.agent_client import observation_parsing
from webemu.emulator import urls
from webemu.emulator.errors import BadRequest
from webemu.rl.grounding import Claim, bears, claim_of
from webemu.rl.tasks.cached_client import CachedClient, PageText
from webemu.rl.tasks.filters.answerable import find_rank, rank_pages, recall_at_cutoffs
from webemu.rl.tasks.question_fields import FieldNames, UserQuestion, parse_question_row
from webemu.rl.tasks.task import Evidence, Task
from webemu.rl.verify import normalise

RESULTS_READ = 10
"""Number of results of a question that are read for its answers."""
BATCH_SIZE = 64
"""Number of questions that are audited concurrently."""
RECIPE = "own"
"""Name that tasks made of a user's own questions have instead of a recipe's."""
MAX_DOMAINS_LISTED = 10
"""Number of domains listed among those with the most missing pages."""
GoldState = Literal["found", "captured", "missing"]
"""State of a gold page: search shows it for its own title, it is only served, or it is not in the collection."""
QuestionStatus = Literal["answerable", "stated elsewhere", "not stated", "gold missing"]
"""Result for a question: its gold pages are there (or, if it has none, a result states an answer), only other results
state an answer, nothing states one, or gold pages are missing.
"""
_YES_NO = frozenset({"yes", "no", "true", "false"})
"""Answers that occur on any page, so that finding them there means nothing."""


@dataclass(frozen=True, slots=True)
class GoldPage:
    """A page that holds the answer according to the question set."""

    url: str
    """URL of the page; empty if only its title was given and no page has that title."""
    title: str
    """Title of the page; empty if it is known by its URL and missing."""
    state: GoldState
    rank: int | None = None
    """Rank of the page among 50 results for the bare question; None if it is not among them."""
    best: int | None = None
    """Best rank over all queries made from the question: the question, its content words, its names."""


@dataclass(frozen=True, slots=True)
class AuditRow:
    """Audit of one question. The field names are those of the output file."""

    id: str
    question: str
    answers: tuple[str, ...]
    """Accepted answers of the question set; may be empty."""
    gold: tuple[GoldPage, ...]
    """Gold pages: first those given by URL, then those given by title."""
    in_gold: bool | None
    """True if a passage of a gold page bears an answer; None if there is no gold page or no answer to look for."""
    in_results: int | None
    """Rank of the first of ten results with a passage that bears an accepted answer; None if there is none."""
    status: QuestionStatus

    @property
    def is_answerable(self) -> bool:
        """True if the gold pages or the results state an answer."""
        return self.status in ("answerable", "stated elsewhere")


def read_questions(path: Path, names: FieldNames) -> list[UserQuestion]:
    """Return the questions of a file of JSON lines, a JSON list, CSV or TSV.

    Raises:
        BadRequest: The file cannot be read, or a row has no question.
    """
    parsed: list[UserQuestion] = []
    for number, row in enumerate(_read_rows(path), 1):
        try:
            parsed.append(parse_question_row(row, number, names))
        except ValueError as error:
            raise BadRequest(
                f"{path}, row {number}: {error}", action="name the fields with --question-field and --answer-field"
            ) from error
    return parsed


def _read_rows(path: Path) -> Iterator[dict[str, object]]:
    """Yield the rows of a question set as objects. Raises BadRequest if the file cannot be read or parsed."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        if path.suffix in (".csv", ".tsv"):
            yield from csv.DictReader(io.StringIO(text), delimiter="\t" if path.suffix == ".tsv" else ",")
            return
        rows = (
            json.loads(text)
            if text.lstrip()[:1] == "["
            else [json.loads(one) for one in text.splitlines() if one.strip()]
        )
    except OSError as error:
        raise BadRequest(f"{path}: {error.strerror}", action="check the path of the question file") from error
    except ValueError as error:
        raise BadRequest(f"{path}: {error}", action="use JSON lines, a JSON list, CSV or TSV") from error
    # A JSON list of bare strings parses, too, but has no answers.
    if bad := next((row for row in rows if not isinstance(row, dict)), None):
        raise BadRequest(f"{path}: {str(bad)[:60]!r} is not a JSON object", action="use one JSON object per question")
    yield from rows


async def audit(
    user_questions: Sequence[UserQuestion], web: CachedClient, on_progress: Callable[[int], object] = lambda _: None
) -> list[AuditRow]:
    """Return the audit of each question, in order.

    `on_progress` is called with the number of questions done since its last call.
    """
    rows: list[AuditRow] = []
    for start in range(0, len(user_questions), BATCH_SIZE):
        rows += await asyncio.gather(*(_audit_one(one, web) for one in user_questions[start : start + BATCH_SIZE]))
        on_progress(len(rows) - start)
    return rows


async def _audit_one(user_question: UserQuestion, web: CachedClient) -> AuditRow:
    """Return the audit of one question."""
    gold = [await _find_by_url(url, web) for url in user_question.urls] + [
        await _find_by_title(title, web) for title in user_question.titles
    ]
    present_urls = [page.url for page in gold if page.state != "missing"]
    ranks = await rank_pages(user_question.question, present_urls, web)
    ranks_by_url = dict(zip(present_urls, zip(ranks.for_question, ranks.best, strict=True), strict=True))
    gold = [
        GoldPage(page.url, page.title, page.state, *ranks_by_url[page.url]) if page.url in ranks_by_url else page
        for page in gold
    ]
    answers = [answer for answer in user_question.answers if normalise(answer) and normalise(answer) not in _YES_NO]
    claim = build_claim(user_question.question, answers, len(gold))
    in_gold = await _is_in_gold(gold, claim, web) if gold and answers else None
    in_results = await _find_in_results(user_question.question, claim, web) if answers else None
    return AuditRow(
        user_question.id,
        user_question.question,
        user_question.answers,
        tuple(gold),
        in_gold,
        in_results,
        _classify(gold, in_gold, in_results),
    )


def _classify(gold: Sequence[GoldPage], in_gold: bool | None, in_results: int | None) -> QuestionStatus:
    """Return the result for a question from the states of its gold pages and the places where an answer was found."""
    is_gold_missing = any(page.state == "missing" for page in gold)
    # in_gold is None if there is no answer to look for; then the page itself must do.
    if gold and not is_gold_missing and in_gold is not False:
        return "answerable"
    if in_results is not None:
        return "stated elsewhere" if gold else "answerable"
    return "gold missing" if is_gold_missing else "not stated"


async def _find_by_url(url: str, web: CachedClient) -> GoldPage:
    """Return the state of the gold page at a URL."""
    page = await web.get_page(url)
    if page is None:
        return GoldPage(url, "", "missing")
    # The best case for search: a page that it does not show for its own title is not indexed.
    query = f"{page.title} site:{urls.host_of(page.url)}"
    return GoldPage(url, page.title, "found" if find_rank(page.url, await web.search(query)) else "captured")


async def _find_by_title(title: str, web: CachedClient) -> GoldPage:
    """Return the state of the gold page with a title: the first result that has it, or "missing"."""
    for query in (title, f'intitle:"{title}"'):
        for hit in await web.search(query):
            if observation_parsing.has_title(hit.title, title) or normalise(hit.title) == normalise(title):
                return GoldPage(hit.url, title, "found")
    return GoldPage("", title, "missing")


def build_claim(question: str, answers: Sequence[str], gold_count: int) -> Claim:
    """Return what a passage must say for the question to count as answerable. With several gold pages, none of them
    needs to name the question's subject, only part of its relation.
    """
    return claim_of(question, tuple(answers), is_chain=gold_count > 1)


def bears_answer(page: PageText, claim: Claim, is_gold: bool) -> bool:
    """True if a passage of the page bears an answer (`webemu.rl.grounding`): it speaks of the subject and of the
    relation, and does not deny the answer. The order of two pages is not known, so only gold pages may have a part.
    """
    return bears(page.text, page.title, claim if is_gold else replace(claim, is_chain=False))


async def _is_in_gold(gold: Sequence[GoldPage], claim: Claim, web: CachedClient) -> bool:
    """True if a passage of a gold page bears an answer."""
    pages = await asyncio.gather(*(web.get_page(page.url) for page in gold if page.state != "missing"))
    return any(page is not None and bears_answer(page, claim, True) for page in pages)


async def _find_in_results(question: str, claim: Claim, web: CachedClient) -> int | None:
    """Return the rank of the first result with a passage that bears an answer; None if there is none."""
    hits = (await web.search(question))[:RESULTS_READ]
    pages = await asyncio.gather(*(web.get_page(hit.url) for hit in hits))
    ranked = enumerate(pages, 1)
    return next((rank for rank, page in ranked if page is not None and bears_answer(page, claim, False)), None)


def to_json_line(row: AuditRow) -> str:
    """Return the audit as a line of JSON, without the newline."""
    return json.dumps({**asdict(row), "answerable": row.is_answerable}, ensure_ascii=False)


def make_tasks(rows: Iterable[AuditRow]) -> list[Task]:
    """Return the answerable questions that have accepted answers as tasks; a repeated id gets a number.

    The gold pages of a question are the evidence of its task, unless its answer is stated elsewhere.
    """
    uses = Counter[str]()
    tasks = []
    for row in rows:
        if not row.is_answerable or not row.answers:
            continue
        uses[row.id] += 1
        task_id = row.id if uses[row.id] == 1 else f"{row.id}-{uses[row.id]}"
        evidence = tuple(Evidence(page.url) for page in row.gold if row.status == "answerable")
        tasks.append(Task(task_id, row.question, row.answers, evidence, max(1, len(evidence)), RECIPE))
    return tasks


def list_urls_to_crawl(rows: Iterable[AuditRow], title_url: str = "") -> list[str]:
    """Return the URLs to crawl, each once, sorted.

    `title_url` with the placeholder `{title}` makes the URL of a page that is known by title alone; without it such
    pages are left out.
    """
    missing_pages = [page for row in rows for page in row.gold if page.state == "missing"]
    page_urls = (page.url or title_url.replace("{title}", page.title.replace(" ", "_")) for page in missing_pages)
    return sorted({url for url in page_urls if url})


def summarize(rows: Sequence[AuditRow]) -> Iterator[tuple[str, str]]:
    """Yield the summary as (label, text): answerable questions, answers found, gold pages, recall, missing pages by
    domain.
    """
    gold = [page for row in rows for page in row.gold]
    yield "answerable", _format_share(sum(row.is_answerable for row in rows), len(rows), "questions")
    for status in get_args(QuestionStatus):
        if count := sum(row.status == status for row in rows):
            yield f"  {status}", _format_share(count, len(rows))
    result_ranks = [row.in_results for row in rows if any(normalise(answer) not in _YES_NO for answer in row.answers)]
    for cutoff in (1, 5, RESULTS_READ):
        count = sum(rank is not None and rank <= cutoff for rank in result_ranks)
        if result_ranks:
            yield (
                f"answer in top {cutoff}",
                _format_share(count, len(result_ranks), "questions with an answer to look for"),
            )
    if not gold:
        return
    gold_checks = [row.in_gold for row in rows if row.in_gold is not None]
    if gold_checks:
        yield (
            "answer on gold page",
            _format_share(sum(gold_checks), len(gold_checks), "questions with gold pages and an answer to look for"),
        )
    for state in get_args(GoldState):
        yield f"gold {state}", _format_share(sum(page.state == state for page in gold), len(gold), "gold pages")
    for name, page_ranks in (("question", [page.rank for page in gold]), ("script", [page.best for page in gold])):
        yield (
            f"recall by {name}",
            "  ".join(f"@{cutoff} {share:.3f}" for cutoff, share in recall_at_cutoffs(page_ranks).items()),
        )
    # Pages known by title alone have no domain; they are counted below.
    missing_domains = Counter(
        urls.split_domain(urls.host_of(page.url))[0] for page in gold if page.state == "missing" and page.url
    )
    for domain, count in missing_domains.most_common(MAX_DOMAINS_LISTED):
        yield "missing of", f"{domain}: {count:,}"
    if titles := sum(page.state == "missing" and not page.url for page in gold):
        yield "missing by title", f"{titles:,}"


def _format_share(count: int, total: int, unit: str = "") -> str:
    """Return a count with its total and the percentage."""
    return f"{count:,} of {total:,} {unit}".rstrip() + (f" ({count / total:.1%})" if total else "")
