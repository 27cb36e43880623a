"""The board in the browser: a page to play, analyse and review on, served from this machine to itself."""
