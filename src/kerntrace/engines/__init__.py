"""Engines that decode: what runs the model while a collector watches. Room: engines."""
