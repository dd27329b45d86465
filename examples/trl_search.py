"""Train a model to search with TRL's GRPO. Needs a running server, and its tasks in `tasks.jsonl`:

webemu tasks build --collection demo --recipes crawl --count 500 --out tasks.jsonl
"""

from pathlib import Path

from trl import GRPOConfig, GRPOTrainer

from webemu.rl.adapters import trl
from webemu.rl.adapters.environment_config import EnvironmentConfig
from webemu.rl.tasks import load

GRPOTrainer(
    model="Qwen/Qwen3-4B",
    reward_funcs=trl.reward,
    train_dataset=trl.build_dataset(load(Path("tasks.jsonl"))),
    environment_factory=trl.environment_factories(EnvironmentConfig("http://127.0.0.1:8800")),
    args=GRPOConfig(num_generations=8, max_completion_length=16_000, max_tool_calling_iterations=12),
).train()
