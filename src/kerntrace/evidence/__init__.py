"""What accounting and model say together: predictions beside measurements. Room: evidence."""
