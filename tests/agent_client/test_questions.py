"""Question forms."""

from __future__ import annotations

import pytest

from webemu.agent_client.questions import FORMS, Look, Plan, understand


@pytest.mark.parametrize(
    ("question", "plan"),
    [
        ("Who is the mayor of Ashby (Kellmark)?", Plan("Ashby (Kellmark)", (Look("Mayor"),))),
        (
            "Who is the mayor of the town where the founder of Who & Sons was born?",
            Plan("Who & Sons", (Look("Founder"), Look("Place of birth"), Look("Mayor"))),
        ),
        ("What was the population of Wick in 2011?", Plan("Wick", (Look("Population", "2011"),))),
        (
            "Which town in Kellmark had the largest population in 1991?",
            Plan("Kellmark", (Look("Town", "1991", True),)),
        ),
        ("Who was mayor of Wick before Ada Holm?", Plan("Wick", (Look("Previous mayor"),))),
        ("Who became mayor of Wick in December 2024?", Plan("Wick", (Look("Mayor"),))),
        ('Who wrote the novel "Who Was It in 1990?"?', Plan("Who Was It in 1990?", (Look("Author"),))),
    ],
)
def test_understand(question: str, plan: Plan) -> None:
    assert understand(question) == plan


@pytest.mark.parametrize(("form", "path"), FORMS)
def test_every_form_is_read_as_itself(form: str, path: str) -> None:
    plan = understand(form.format(X="Harbour of Wick", Y="1999", W="June 2001"))
    assert plan is not None
    assert plan.title == "Harbour of Wick"
    assert len(plan.looks) == len(path.split(" > "))


def test_other_questions_are_not_understood() -> None:
    assert understand("Why is the sky blue?") is None
