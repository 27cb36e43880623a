"""The brain as managers see it: a process, lines in, lines out.

    python -m tests.protocol.referee --help   whole games under four managers, every slip counted
    python -m tests.protocol.fuzz --help      random and mutated lines and a model of what may answer

TENGEN_TEST_BRAIN names another command to test than `python -m protocol`, such as a packed program.
"""
