"""The Gomocup brain on stdin and stdout: text in, commands, a session around the engine, text out."""

__version__ = "0.1.0"
