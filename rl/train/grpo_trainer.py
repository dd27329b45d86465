"""TRL's GRPO trainer, which spends no gradient on rows that have none."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from trl import GRPOTrainer


class SparingGrpoTrainer(GRPOTrainer):
    """GRPO trainer that reads rows of advantage 0 forward only, for their metrics.

    Their loss is 0 whatever the weights are, and so is their gradient, as long as nothing but the advantage enters the
    loss. In groups that are right or wrong throughout, which are half of them when a policy has learned, that leaves
    out the backward pass: two thirds of the arithmetic.
    """

    def _compute_loss(self, model: torch.nn.Module, inputs: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Return the loss of a micro-batch."""
        if not self._is_free_of_gradient(inputs["advantages"]):
            loss: torch.Tensor = super()._compute_loss(model, inputs)
            return loss
        with torch.no_grad():
            super()._compute_loss(model, inputs)
        # Zeros for all weights rather than none: an optimizer passes over weights without a gradient, momentum and all.
        return sum((weight.sum() for weight in model.parameters() if weight.requires_grad), torch.zeros(())) * 0

    def _is_free_of_gradient(self, advantages: torch.Tensor) -> bool:
        """True if the loss of rows with these advantages is 0 whatever the weights are."""
        has_other_terms = self.beta != 0 or self.aux_loss_enabled
        # With several processes, each backward pass exchanges gradients with those of the others.
        return not has_other_terms and self.accelerator.num_processes == 1 and not bool(advantages.any())
