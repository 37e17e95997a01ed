"""Figures for papers, drawn by matplotlib from the documents that `--json` prints. Room: report."""
