"""Tree search: PUCT with proven results, over the kernel's node arena."""
