"""Chat templates to train with: a model's own if TRL can train on it, or another one of the same turn tokens.

A template that can be trained on marks the assistant's tokens, keeps earlier turns as they were, and has a response
schema, by which turns become messages with tool calls. TRL has all of this for the templates that it knows by their
text; SmolLM2's, for one, it does not know.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import trl
from trl.chat_template_utils import add_response_schema, get_training_chat_template

if TYPE_CHECKING:  # slow import
    from transformers import PreTrainedTokenizerBase

AUTO = "auto"
"""Template setting: the model's own if it can be trained on, else `CHATML_TEMPLATE` for models with its turn tokens."""
CHATML_TOKENS, CHATML_TEMPLATE = ("<|im_start|>", "<|im_end|>"), "qwen2.5"
BRIEF_TEMPLATE = "qwen2.5-brief"
"""Template of Qwen2.5 that lists a tool as `name(parameters): description` instead of its JSON schema: the tools take
about 240 tokens instead of 730, which are read again in every row and every update.
"""
_TOOL_SCHEMA = "tool | tojson"
_TOOL_SIGNATURE = (
    "tool.function.name + '(' + tool.function.parameters.properties | join(', ') + '): ' + tool.function.description"
)
TEMPLATES_FOLDER = Path(trl.__file__).parent / "chat_templates"


def prepare_tokenizer(tokenizer: PreTrainedTokenizerBase, template: str = AUTO) -> PreTrainedTokenizerBase:
    """Return the tokenizer with a chat template that can be trained on, and with a response template.

    `template` is `auto`, `qwen2.5-brief` (`BRIEF_TEMPLATE`), the name of a template of TRL such as `qwen2.5`, or the
    path of a Jinja file, whose text TRL must know. The trained model uses that template and is saved with it. Qwen3's
    own template, for one, drops earlier thoughts, so that the rendered turns would differ from the sampled ones.

    Raises: ValueError if there is no chat template, TRL does not know it, or a turn does not end with the eos token.
    """
    name = tokenizer.name_or_path
    if template != AUTO:
        tokenizer.chat_template = read_template(CHATML_TEMPLATE if template == BRIEF_TEMPLATE else template)
    if not tokenizer.chat_template:
        raise ValueError(
            f"{name} has no chat template: use an instruct model, or name a template, as in template = 'qwen2.5'"
        )
    try:
        tokenizer = _add_training_template(tokenizer)
    except ValueError as error:
        if template != AUTO or not _has_chatml_tokens(tokenizer):
            raise ValueError(
                f"{name}: {error}; the key `template` of [model] names another one, as in template = 'qwen2.5'"
            ) from error
        tokenizer.chat_template = read_template(CHATML_TEMPLATE)
        tokenizer = _add_training_template(tokenizer)
    if template == BRIEF_TEMPLATE:
        tokenizer.chat_template = _list_signatures(tokenizer.chat_template)
    # Rollouts recognise the end of a turn by this token.
    turn = [{"role": "user", "content": "-"}, {"role": "assistant", "content": "-"}]
    if tokenizer.eos_token_id not in tokenizer.apply_chat_template(turn, return_dict=False)[-2:]:
        raise ValueError(f"{name}: a turn of its chat template must end with its eos token, {tokenizer.eos_token!r}")
    return tokenizer


def read_template(name: str) -> str:
    """Return the text of a template of TRL, by its name, or of a Jinja file.

    Raises: ValueError that lists the names if there is no such template.
    """
    for path in (Path(name), TEMPLATES_FOLDER / f"{name.replace('.', '_')}.jinja"):
        if path.is_file():
            return path.read_text(encoding="utf-8")
    names = sorted(path.stem for path in TEMPLATES_FOLDER.glob("*.jinja") if not path.stem.endswith("_training"))
    listed_names = ", ".join([BRIEF_TEMPLATE, *names])
    raise ValueError(f"there is no chat template {name!r}: name a Jinja file, or one of {listed_names}")


def _list_signatures(template: str) -> str:
    """Return a template with the signatures of tools in place of their schemas. Raises: ValueError if it has none."""
    if template.count(_TOOL_SCHEMA) != 1:
        raise ValueError(f"{BRIEF_TEMPLATE}: the template of this version of TRL shows tools in another way")
    return template.replace(_TOOL_SCHEMA, _TOOL_SIGNATURE)


def _add_training_template(tokenizer: PreTrainedTokenizerBase) -> PreTrainedTokenizerBase:
    if not getattr(tokenizer, "response_template", None):
        tokenizer = add_response_schema(tokenizer)
    tokenizer.chat_template = get_training_chat_template(tokenizer) or tokenizer.chat_template
    return tokenizer


def _has_chatml_tokens(tokenizer: PreTrainedTokenizerBase) -> bool:
    vocabulary = tokenizer.get_vocab()
    return all(token in vocabulary for token in CHATML_TOKENS) and tokenizer.eos_token == CHATML_TOKENS[1]
