"""Traces for the programs people look at them with: Nsight Systems, Perfetto, pandas. Room: export."""
