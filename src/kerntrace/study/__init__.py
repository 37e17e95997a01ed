"""The wall-clock study and its traced cells: the plan, the runner, and the store that survives a kill. Room: study."""
