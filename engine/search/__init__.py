"""Tree search: PUCT with proven results, in the compiled node memory."""
