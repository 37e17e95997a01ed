"""Figures for people and machines: JSON documents and terminal tables. Room: report."""
