"""Microbenchmarks behind `kerntrace calibrate`: each group of points in a child process that may fail alone. Room: engines."""
