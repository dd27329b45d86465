"""A small crawl with papers: pages of arXiv, PubMed, PubMed Central and a journal, and pages that are none."""

from tests.crawls import CaptureSpec, html

PORT = "https://www.aldmere.example/"
DOI = "10.1371/journal.tide.0000001"
NUMBERS = "ABCDEFGHIJKL"


def metas(**values: str | list[str]) -> str:
    """Return `citation_` elements; an underscore after a name tells two of one name apart."""
    pairs = [(name, one) for name, value in values.items() for one in ([value] if isinstance(value, str) else value)]
    return "".join(f'<meta name="citation_{name}" content="{one}">' for name, one in pairs)


ARXIV = (
    '<blockquote class="abstract mathjax"><span class="descriptor">Abstract:</span> Tides &amp; lanterns of chalk.'
    '</blockquote><table><tr><td class="tablecell comments mathjax">12 pages, 3 figures</td></tr><tr>'
    '<td class="tablecell subjects"><span class="primary-subject">Fluid Dynamics (physics.flu-dyn)</span>; '
    "Machine Learning (cs.LG)</td></tr></table>"
)
RECORDS = [
    CaptureSpec(PORT, html("Port of Aldmere", "The lighthouse of Aldmere is of chalk. The tide is high."), 2),
    CaptureSpec(f"{PORT}gone", html("Gone", "It is gone."), 5, "404 Not Found"),
    CaptureSpec(f"{PORT}shut", html("Shut", "It is shut."), 5, "403 Forbidden"),
    CaptureSpec(f"{PORT}old", "", 5, "301 Moved Permanently", headers=(("Location", "/"),)),
    CaptureSpec(f"{PORT}quay.png", b"\x89PNG\r\n\x1a\n-quay", 5, mime="image/png"),
    CaptureSpec(
        "https://arxiv.org/abs/2101.00001",
        html(
            "[2101.00001] Lanterns on the Tide",
            "Lanterns on the Tide.",
            ARXIV,
            head=metas(
                title="Lanterns on the Tide",
                author=["Doe, Jane", "Roe, Richard"],
                date="2021/01/01",
                online_date="2021/02/03",
                pdf_url="https://arxiv.org/pdf/2101.00001",
                arxiv_id="2101.00001",
                abstract="Tides and lanterns of chalk.",
            ),
        ),
        3,
    ),
    CaptureSpec(
        "https://pubmed.ncbi.nlm.nih.gov/12345678/",
        html(
            "Tidal fevers of keepers - PubMed",
            "Tidal fevers of lighthouse keepers.",
            head=metas(
                title="Tidal fevers of keepers",
                authors="Doe JQ;Roe R;",
                journal_title="Annals of Harbour Medicine",
                date="2020 Mar 5",
                volume="12",
                issue="3",
                firstpage="101",
                lastpage="109",
                issn="1234-5678",
                pmid="12345678",
                doi="10.1000/ahm.2020.5",
                keywords="tide; fever",
            )
            + '<meta name="description" content="Keepers who wade at low tide have more fevers.">',
        ),
        3,
    ),
    CaptureSpec(
        "https://pmc.ncbi.nlm.nih.gov/articles/PMC7654321/",
        html(
            "Chalk dust and tide",
            "Chalk dust rises with the tide.",
            "It settles on lanterns.",
            head=metas(title="Chalk dust and tide", author="Ann Poe", publication_date="2019/7", journal_title="Dust"),
        ),
        3,
    ),
    CaptureSpec(
        "https://journals.tide.example/article?id=1",
        html(
            "A model of the tide",
            f"A model of the tide. doi: {DOI}",
            head=metas(
                title="A model of the tide",
                author=["Mara Stone", "Li Wei"],
                publication_date="2022-05-17",
                journal_title="PLOS Tide",
                publisher="Library of Tides",
                volume="2",
                doi=DOI,
                pdf_url="/article/file?id=1",
                abstract="The tide is modelled by lanterns.",
            ),
        ),
        4,
    ),
    *(
        CaptureSpec(
            f"https://journals.tide.example/notes/{letter}",
            html(
                f"Note {letter}",
                f"Notes on kelp, number {letter}.",
                head=metas(title=f"Note {letter} on kelp", year="2018", author="K. Elp", doi=f"10.5555/kelp.{letter}"),
            ),
            5,
        )
        for letter in NUMBERS
    ),
]
