"""Training recipes: readable TOML files that name the web, the model and the stages. They are checked when they are
read, so that an unknown key fails before the training starts.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from webemu.rl.curriculum import Plan
from webemu.rl.judge.spec import JudgeSpec
from webemu.rl.state import Limits

T = TypeVar("T")

SHIPPED_FOLDER = Path(__file__).parent / "recipes"
"""Folder of the recipes that come with the package."""
COMPARED_ANSWERS = 4
"""Right and wrong answers each of a batch that a recipe's judge is asked about beside those that the rules leave open.
"""
StageKind = Literal["sft", "grpo"]
WebKind = Literal["toy", "world"]
DTYPES, CHECKPOINTING = ("float32", "bfloat16"), ("auto", "on", "off")
PASSES = ("auto", *DTYPES)
"""Choices of two keys of `[model]`."""
ScaleRewards = Literal["group", "batch", "none"]
"""Scaling of advantages, by the names that TRL gives it."""
ControlName = Literal["", "random-reward", "no-tools", "shuffled-gold", "ungated-cost"]
"""Control experiments: the first three must not train a good agent, the last need not; empty for none."""


class RecipeError(ValueError):
    """Unreadable recipe; the message names the file and the key."""


@dataclass(frozen=True, slots=True)
class Web:
    """Generated web (`webemu generate`). 0 pages if the server and the tasks are given instead."""

    pages: int = 0
    seed: int = 0
    """Seed of the generated web."""
    kind: WebKind = "toy"
    """`toy` for pages of a few words; `world` for an invented world in natural sentences, from 1,000 pages up."""
    tasks: int = 0
    """Number of harder tasks that are built for a `world` (`webemu tasks build --recipes world`); 0 takes those of the
    generator, of one to three pages.
    """

    def __post_init__(self) -> None:
        if self.kind not in get_args(WebKind):
            raise ValueError(f"the kind of a web must be {' or '.join(get_args(WebKind))}, got {self.kind!r}")
        if self.tasks and self.kind == "toy":
            raise ValueError("a toy web has tasks of its own: leave out its key tasks")


@dataclass(frozen=True, slots=True)
class Model:
    """Model to train: either `size` (from scratch) or `name`."""

    size: str = ""
    """`tiny` or `small` for a model from scratch, whose tokenizer is learned from the traces of the first stage."""
    name: str = ""
    """Folder or hub id of a model, as `transformers` accepts it, or a GGUF file; used if `size` is empty."""
    template: str = "auto"
    """Chat template: `auto`, one of TRL such as `qwen2.5`, or a Jinja file (`webemu.rl.train.chat_templates`)."""
    seed: int = 0
    """Seed of random weights; the seed of the run is added to it."""
    lora: int = 0
    """Rank of LoRA adapters (peft) on all linear layers; 0 trains all weights."""
    system: str = ""
    """System prompt before the question. `rules` stands for `webemu.rl.chat.answer_rules` of the task's answer type."""
    dtype: Literal["float32", "bfloat16"] = "float32"
    """Type of the weights that are trained. With `bfloat16` they take half the memory, and small steps are lost."""
    passes: Literal["auto", "float32", "bfloat16"] = "auto"
    """Type of the passes that compute gradients. `auto` is bfloat16 on a GPU and, for a model of `name`, on a CPU with
    instructions for it (three times as fast), else float32.
    """
    attention: str = ""
    """Implementation of attention, as `transformers` names it (`sdpa`, `eager`, `flash_attention_2`); empty for its
    choice.
    """
    optimizer: str = ""
    """Optimizer, as `transformers` names it (`adamw_bnb_8bit`, `adafactor`); empty for its choice, a kind of AdamW."""
    checkpointing: Literal["auto", "on", "off"] = "auto"
    """Gradient checkpointing: activations are computed again in the backward pass. `auto` for on with a GPU."""
    fsdp: str = ""
    """Sharding over processes, as `transformers` names it (`full_shard auto_wrap`); empty for none."""
    vllm: str = ""
    """Engine of the GRPO rollouts: empty for `transformers`, `colocate` for vLLM in this process, or the URL of a vLLM
    server.
    """

    def __post_init__(self) -> None:
        for name, value, choices in (
            ("dtype", self.dtype, DTYPES),
            ("passes", self.passes, PASSES),
            ("checkpointing", self.checkpointing, CHECKPOINTING),
        ):
            if value not in choices:
                raise ValueError(f"{name} of the model must be one of {', '.join(choices)}, got {value!r}")


@dataclass(frozen=True, slots=True)
class Stage:
    """Stage of a recipe."""

    name: str
    kind: StageKind
    steps: int
    """Optimizer steps. A stage of 0 steps trains nothing: it measures the model as it is on the held-out tasks."""
    rate: float
    """Learning rate."""
    beta2: float = 0.999
    """Second-moment decay of AdamW. With a lower value, models from scratch learn to copy in half the steps."""
    batch: int = 64
    """Rows or rollouts of a step, over all processes."""
    micro: int = 0
    """Micro-batch size per process; 0 means the whole share of the process."""
    recipes: tuple[str, ...] = ()
    """Recipes of the tasks; empty for all."""
    rows: str | tuple[str, ...] = "played"
    """SFT rows: episodes `played` as `mix` says, the `best` episodes of all GRPO stages before, or names of files that
    `webemu data sft` wrote.
    """
    mix: Mapping[str, float] = field(default_factory=dict)
    """Shares of what is played: of patterns (`webemu.rl.train.patterns`) on the toy web, or of policies such as
    `oracle` and `scripted` on any. With rows of `best`, the number of played rows relative to them. With files, the
    weight of a file by its name without folder and ending.
    """
    group: int = 8
    """Rollouts of one task."""
    loss: str = "dapo"
    """GRPO loss, by the name that TRL gives it."""
    scale_rewards: ScaleRewards = "group"
    """Divisor of the advantages: the standard deviation of the `group`, that of the `batch`, or `none`. With `group`,
    a small difference within a group counts as much as right against wrong.
    """
    min_spread: float = 0.1
    """Least difference between the best and the worst reward of a group that teaches anything. Below it, rewards that
    differ by a few requests alone are levelled, so that their scaled difference moves nothing.
    """
    clip: tuple[float, float] = (0.2, 0.28)
    """Lower and upper clipping range of the GRPO ratio. With one update for each batch it only acts in `cispo`, where
    the upper value is the largest ratio itself (`webemu.rl.train.grpo`).
    """
    beta: float = 0.0
    """Coefficient of the KL divergence from the model at the start of the stage."""
    temperature: float = 1.0
    """Sampling temperature."""
    length: float = 0.0
    """Share of the reward that an episode loses if its own tokens fill `context`; proportionally less if they are
    fewer.
    """
    entropy: float = 0.0
    """Entropy limit in nats per token. The stage stops after `webemu.rl.train.grpo.MAX_LOW_ENTROPY_STEPS` consecutive
    steps below it, because the model no longer explores.
    """
    resample: int = 2
    """Times that groups with equal rewards are replaced by new ones (DAPO's dynamic sampling)."""
    horizon: tuple[tuple[int, int], ...] = ()
    """Pairs of (step, turns) for a growing turn limit: see `webemu.rl.curriculum.limit_turns`."""
    noise: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Weather rates at the first and at the last step, by kind of weather."""
    plan: Plan = field(default_factory=Plan)
    """Settings of the curriculum."""
    gate: float = 0.0
    """Share of grounded answers on held-out tasks that the stage must reach before the next one may start."""
    save: int = 20
    """Steps between checkpoints."""
    turn: int = 64
    """Token limit of one turn of the model."""
    context: int = 512
    """Token limit of a whole episode after its prompt."""


@dataclass(frozen=True, slots=True)
class EpisodeSettings:
    """Settings of the episodes that a model plays: the same in GRPO and on held-out tasks."""

    limits: Limits
    policy: Mapping[str, object] = field(default_factory=dict)
    """Session policy (docs/sessions.md)."""
    system: str = ""
    """System prompt before the question, as `Model.system` has it; empty for none."""
    control: ControlName = ""
    judge: JudgeSpec | None = None
    """Judge of what the rules leave open; None if they alone decide."""

    @property
    def limits_under_control(self) -> Limits:
        """Limits of an episode; the control `no-tools` allows no search and no page."""
        return replace(self.limits, calls=0) if self.control == "no-tools" else self.limits


@dataclass(frozen=True, slots=True)
class Recipe:
    """Recipe of a run."""

    summary: str
    web: Web
    """Web to learn on."""
    held_out: Web
    """Web of the held-out tasks."""
    model: Model
    limits: Limits
    stages: tuple[Stage, ...]
    policy: Mapping[str, object]
    """Session policy of the episodes (docs/sessions.md)."""
    questions: int = 200
    """Number of held-out tasks that are asked after each stage, at the temperature of the stage."""
    control: ControlName = ""
    judge: JudgeSpec | None = None
    """Judge of what the rules leave open, in training and on held-out tasks; None if they alone decide."""

    def __post_init__(self) -> None:
        if self.control not in get_args(ControlName):
            raise RecipeError(
                f"unknown control {self.control!r}; known controls: {', '.join(get_args(ControlName)[1:])}"
            )
        first = self.stages[0] if self.stages else None
        if self.model.size and first and (first.kind, first.rows, bool(first.steps)) != ("sft", "played", True):
            raise RecipeError(
                "a model from scratch learns its tokenizer from patterns:"
                " its first stage must be SFT (kind sft) on played rows (rows played), with at least one step"
            )

    @property
    def episodes(self) -> EpisodeSettings:
        """Settings of the episodes that the model plays."""
        return EpisodeSettings(self.limits, self.policy, self.model.system, self.control, self.judge)


def read_recipe(name: str) -> tuple[str, Recipe]:
    """Return the text and the content of a shipped recipe, by its name, or of a recipe file.

        text, recipe = read_recipe("tiny")

    Raises: RecipeError if there is no such recipe, or it is invalid.
    """
    path = SHIPPED_FOLDER / f"{name}.toml" if "/" not in name and not name.endswith(".toml") else Path(name)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError:
        raise RecipeError(
            f"unknown recipe {name!r}; shipped recipes: {', '.join(list_shipped())}; or name a TOML file"
        ) from None
    return text, parse_recipe(text, str(path))


def list_shipped() -> list[str]:
    """Return the names of the shipped recipes in order."""
    return sorted(path.stem for path in SHIPPED_FOLDER.glob("*.toml"))


def parse_recipe(text: str, where: str = "recipe") -> Recipe:
    """Return the recipe in a TOML text; `where` names it in errors. Raises: RecipeError if it is invalid."""
    try:
        config = tomllib.loads(text)
        stages = tuple(_parse_stage(one) for one in config.pop("stages", ()))
        section_types = {"web": Web, "held_out": Web, "model": Model, "limits": Limits}
        sections: dict[str, object] = {
            name: _build(kind, config.pop(name, {}), f"[{name}]") for name, kind in section_types.items()
        }
        if (judge := config.pop("judge", None)) is not None:
            sections["judge"] = JudgeSpec.from_config({"compare": COMPARED_ANSWERS} | judge)
        recipe = _build(Recipe, {"policy": {}} | config | sections | {"stages": stages}, "the recipe")
    except (ValueError, TypeError) as error:
        raise RecipeError(f"{where}: {error}; docs/train.md explains the parts of a recipe") from error
    if not stages:
        raise RecipeError(f"{where}: it has no [[stages]], but needs at least one")
    return recipe


def _parse_stage(config: dict[str, Any]) -> Stage:
    """Return a stage. Raises: ValueError or TypeError if a key is unknown or missing, or a value is invalid."""
    where = f"stage {config.get('name', '?')}"
    plan = _build(Plan, config.pop("plan", {}), f"plan of {where}")
    horizon = tuple((int(step), int(turns)) for step, turns in config.pop("horizon", ()))
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in config.items()}
    stage = _build(Stage, values | {"plan": plan, "horizon": horizon}, where)
    if stage.scale_rewards not in get_args(ScaleRewards):
        raise ValueError(
            f"{where}: scale_rewards must be {', '.join(get_args(ScaleRewards))}, got {stage.scale_rewards!r}"
        )
    if isinstance(stage.rows, str) and stage.rows not in ("played", "best"):
        raise ValueError(f"{where}: rows must be played, best, or a list of files, got {stage.rows!r}")
    if stage.kind not in get_args(StageKind):
        raise ValueError(f"{where}: kind must be sft or grpo, got {stage.kind!r}")
    if stage.kind == "grpo" and stage.batch % stage.group:
        raise ValueError(f"{where}: batch ({stage.batch}) must be a multiple of group ({stage.group})")
    return stage


def _build(kind: type[T], config: Mapping[str, object], where: str) -> T:
    """Return a dataclass built from a TOML table. Raises: ValueError if a key is unknown."""
    field_names = [one.name for one in fields(kind)]  # type: ignore[arg-type]
    if unknown := [name for name in config if name not in field_names]:
        raise ValueError(f"{where}: unknown key {unknown[0]!r}; known keys: {', '.join(field_names)}")
    return kind(**config)
