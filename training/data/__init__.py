"""Game records from self-play to the learner: records, shards, journals, imports, the window."""
