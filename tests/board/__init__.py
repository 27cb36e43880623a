"""The board in the browser: its messages, its guard, its engines, and the page in a real Chromium."""
