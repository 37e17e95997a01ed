"""The page that people look at: one HTML file that needs nothing else. Room: report."""
