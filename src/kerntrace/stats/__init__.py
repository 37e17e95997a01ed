"""Statistics of what was measured and predicted. Room: stats | hardware | workload."""
