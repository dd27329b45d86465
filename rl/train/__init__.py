"""Training of search agents with TRL: stages of SFT and GRPO over episodes of the emulated web."""
