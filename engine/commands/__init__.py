"""What `python -m engine NAME` runs, one module a command, and the self-check of the brain.

Programs on top of the library, as the protocol and the game at the terminal are: the library does not import
them.
"""
