"""HTML pages of training runs: templates of this folder with their style, their scripts and a policy for browsers."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from webemu.rl.evaluation.stylesheet import content_security_policy, stylesheet
from webemu.rl.train.curves import format_short

INCLUDED_FILES = {"report_style": "report.css", "charts_script": "charts.js"}
"""Files that templates include, by the name under which they do."""


def render_template(template: str, connect: str, **values: object) -> str:
    """Return a page of this folder's templates with the values, its styles and scripts, and a policy that lets no
    others run. `connect` is the policy's source list for requests.
    """
    loader = PackageLoader("webemu.rl.train", ".")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"short": format_short}
    source = loader.get_source(environment, template)[0]
    included = {name: Markup(loader.get_source(environment, file)[0]) for name, file in INCLUDED_FILES.items()}
    policy = content_security_policy(source, connect, included)
    return environment.get_template(template).render(look=stylesheet(), policy=policy, **included, **values)
