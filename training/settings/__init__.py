"""Every setting of a training run, and how settings are read, checked and stored."""
