"""A torch net as ONNX files: graph, quantisation, comparison, card."""
