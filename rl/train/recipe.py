"""A training recipe: one readable TOML file that names the web, the model and the stages, checked when it is read."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from webemu.rl.curriculum import Plan
from webemu.rl.state import Limits

T = TypeVar("T")

SHIPPED = Path(__file__).parent / "recipes"
Kind = Literal["sft", "grpo"]
Control = Literal["", "random-reward", "no-tools", "shuffled-gold"]


class RecipeError(ValueError):
    """A recipe that cannot be read; names file and key."""


@dataclass(frozen=True, slots=True)
class Web:
    """A web of few words (`webemu generate --toy`), made for the run; no pages where server and tasks are given."""

    pages: int = 0
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Model:
    size: str = ""
    """`tiny` or `small`: from scratch, with a tokenizer learned from the traces of the first stage."""
    name: str = ""
    """Else a folder or a hub id, as `transformers` takes it."""
    seed: int = 0
    lora: int = 0
    """Rank of LoRA adapters (peft) on all linear layers; 0 trains all weights."""
    system: str = ""
    """`rules` puts `webemu.rl.chat.rules` before the question."""
    vllm: str = ""
    """In GRPO, vLLM speaks in place of `transformers`: `colocate`, or the URL of its server."""


@dataclass(frozen=True, slots=True)
class Stage:
    name: str
    kind: Kind
    steps: int
    rate: float
    """Learning rate."""
    beta2: float = 0.999
    """Of AdamW; models from scratch find out how to copy in half the steps with less."""
    batch: int = 64
    """Rows, or rollouts, of a step, over all processes."""
    micro: int = 0
    """Of them that go through the model at once, in one process; 0 is all of its share."""
    recipes: tuple[str, ...] = ()
    """Of tasks; all where none is named."""
    rows: str = "patterns"
    """SFT on `patterns`, or on the `best` episodes of all stages before."""
    mix: Mapping[str, float] = field(default_factory=dict)
    """Shares of `webemu.rl.train.patterns`; of `best`, the share of patterns that are mixed in."""
    group: int = 8
    """Rollouts of one task."""
    loss: str = "dapo"
    clip: tuple[float, float] = (0.2, 0.28)
    beta: float = 0.0
    """Of the divergence from the model that the stage began with."""
    temperature: float = 1.0
    length: float = 0.0
    """Share of its reward that an episode loses where its own tokens fill `context`; less where they are fewer."""
    entropy: float = 0.0
    """Nats per token; below it for `webemu.rl.train.grpo.PATIENCE` steps on end the stage ends: nothing is tried any more."""
    resample: int = 2
    """How often groups of one and the same reward are drawn again (DAPO's dynamic sampling)."""
    horizon: tuple[tuple[int, int], ...] = ()
    """(step, turns): see `webemu.rl.curriculum.horizon`."""
    noise: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Rates of weather at the first and at the last step."""
    plan: Plan = field(default_factory=Plan)
    gate: float = 0.0
    """Grounded EM on held-out tasks that the stage must reach for the next one to begin."""
    save: int = 20
    """Steps between checkpoints."""
    turn: int = 64
    """Tokens of one turn of the model."""
    context: int = 512
    """Tokens of a whole episode after its prompt."""


@dataclass(frozen=True, slots=True)
class Recipe:
    summary: str
    web: Web
    held_out: Web
    model: Model
    limits: Limits
    stages: tuple[Stage, ...]
    policy: Mapping[str, Any]
    questions: int = 200
    """Held-out tasks that are asked after each stage, at temperature 1."""
    control: Control = ""

    def __post_init__(self) -> None:
        if self.control not in get_args(Control):
            raise RecipeError(f"there is no control {self.control!r}; there are {', '.join(get_args(Control)[1:])}")
        if self.model.size and self.stages and (self.stages[0].kind, self.stages[0].rows) != ("sft", "patterns"):
            raise RecipeError(
                "a model from nothing learns its tokenizer from patterns: its first stage must be SFT on them"
            )


def read(name: str) -> tuple[str, Recipe]:
    """A shipped recipe by its name, or a file: its text and what it says. Raises RecipeError."""
    path = SHIPPED / f"{name}.toml" if "/" not in name and not name.endswith(".toml") else Path(name)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError:
        raise RecipeError(f"there is no recipe {name!r}; there are {', '.join(shipped())}, or name a file") from None
    return text, parse(text, str(path))


def shipped() -> list[str]:
    return sorted(path.stem for path in SHIPPED.glob("*.toml"))


def parse(text: str, where: str = "recipe") -> Recipe:
    """What a recipe says. Raises RecipeError."""
    try:
        told = tomllib.loads(text)
        stages = tuple(_stage(one) for one in told.pop("stages", ()))
        parts = {"web": Web, "held_out": Web, "model": Model, "limits": Limits}
        made: dict[str, Any] = {name: _made(kind, told.pop(name, {}), f"[{name}]") for name, kind in parts.items()}
        recipe = _made(Recipe, {"policy": {}} | told | made | {"stages": stages}, "the recipe")
    except (ValueError, TypeError) as error:
        raise RecipeError(f"{where}: {error}") from error
    if not stages:
        raise RecipeError(f"{where}: it has no [[stages]]")
    return recipe


def _stage(told: dict[str, Any]) -> Stage:
    where = f"stage {told.get('name', '?')}"
    plan = _made(Plan, told.pop("plan", {}), f"plan of {where}")
    horizon = tuple((int(step), int(turns)) for step, turns in told.pop("horizon", ()))
    lists = {name: tuple(value) if isinstance(value, list) else value for name, value in told.items()}
    stage = _made(Stage, lists | {"plan": plan, "horizon": horizon}, where)
    if stage.kind not in get_args(Kind) or stage.batch % stage.group:
        raise ValueError(f"{where}: kind is sft or grpo, and batch a multiple of group")
    return stage


def _made(kind: type[T], told: Mapping[str, Any], where: str) -> T:
    known = [one.name for one in fields(kind)]  # type: ignore[arg-type]
    if unknown := [name for name in told if name not in known]:
        raise ValueError(f"{where} has no {unknown[0]!r}; it has {', '.join(known)}")
    return kind(**told)
