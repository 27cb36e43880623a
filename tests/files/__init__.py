"""Files of strangers: what the brain and the training read from others is read without harm or refused."""
