"""The learner: batches, losses, checkpoints."""
