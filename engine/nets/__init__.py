"""Nets that ship with the engine, as .onnx files, and the name of the default one."""
