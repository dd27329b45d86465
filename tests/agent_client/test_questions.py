"""Question forms."""

from __future__ import annotations

import pytest

from webemu.agent_client.questions import FORMS, LookupPlan, LookupStep, parse_question


@pytest.mark.parametrize(
    ("question", "plan"),
    [
        ("Who is the mayor of Ashby (Kellmark)?", LookupPlan("Ashby (Kellmark)", (LookupStep("Mayor"),))),
        (
            "Who is the mayor of the town where the founder of Who & Sons was born?",
            LookupPlan("Who & Sons", (LookupStep("Founder"), LookupStep("Place of birth"), LookupStep("Mayor"))),
        ),
        ("What was the population of Wick in 2011?", LookupPlan("Wick", (LookupStep("Population", "2011"),))),
        (
            "Which town in Kellmark had the largest population in 1991?",
            LookupPlan("Kellmark", (LookupStep("Town", "1991", True),)),
        ),
        ("Who was mayor of Wick before Ada Holm?", LookupPlan("Wick", (LookupStep("Previous mayor"),))),
        ("Who became mayor of Wick in December 2024?", LookupPlan("Wick", (LookupStep("Mayor"),))),
        ('Who wrote the novel "Who Was It in 1990?"?', LookupPlan("Who Was It in 1990?", (LookupStep("Author"),))),
    ],
)
def test_understand(question: str, plan: LookupPlan) -> None:
    assert parse_question(question) == plan


@pytest.mark.parametrize(("form", "path"), FORMS)
def test_every_form_is_read_as_itself(form: str, path: str) -> None:
    plan = parse_question(form.format(X="Harbour of Wick", Y="1999", W="June 2001"))
    assert plan is not None
    assert plan.title == "Harbour of Wick"
    assert len(plan.steps) == len(path.split(" > "))


def test_other_questions_are_not_understood() -> None:
    assert parse_question("Why is the sky blue?") is None
