"""verl's agent loop for episodes: it ends when the episode does, and brings the reward with the trajectory.

The model's turns, tools and tokens are those of verl's own `ToolAgentLoop` with the tools of `webemu.rl.adapters.verl`.
That loop would let the model speak again after `finish`, and would leave the reward to a function of its own.
"""

from __future__ import annotations

from typing import Any, Final

from verl.experimental.agent_loop.agent_loop import AgentLoopOutput, register
from verl.experimental.agent_loop.tool_agent_loop import AgentData, AgentState, ToolAgentLoop

from webemu.rl.adapters.verl import EXTRA_FIELD, ExtraInfo, compute_score

AGENT_NAME: Final = "webemu_agent"
"""Name of the loop: the column `agent_name` of a row, or `rollout.agent.default_agent_loop`."""


@register(AGENT_NAME)
class WebAgentLoop(ToolAgentLoop):
    """Loop of one episode."""

    async def run(self, sampling_params: dict[str, Any], **kwargs: Any) -> AgentLoopOutput:
        """Play an episode and return its tokens with the reward (`attach_score`)."""
        return attach_score(await super().run(sampling_params, **kwargs))

    async def _handle_processing_tools_state(self, agent_data: AgentData) -> AgentState:
        """Make the calls of a turn, and end the loop where the episode has ended."""
        state = await super()._handle_processing_tools_state(agent_data)
        return AgentState.TERMINATED if EXTRA_FIELD in agent_data.extra_fields else state


def attach_score(output: AgentLoopOutput) -> AgentLoopOutput:
    """Return a trajectory with the episode's reward, and with its terms as verl's `reward_extra_info`.

    The tokens of a masked episode get no loss; `webemu.rl.adapters.verl.neutralize_batch` keeps its score of 0 out of
    the mean of its group.
    """
    extra: ExtraInfo = {EXTRA_FIELD: output.extra_fields[EXTRA_FIELD]} if EXTRA_FIELD in output.extra_fields else {}
    score = compute_score("webemu", "", "", extra)
    output.reward_score = score["score"]
    output.extra_fields["reward_extra_info"] = score
    if score["masked"]:
        output.response_mask = [0] * len(output.response_mask)
    return output
