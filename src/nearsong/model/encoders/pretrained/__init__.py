"""Encoders with weights that were learned elsewhere: musicnn, ONNX files, and vectors that a user brings."""
