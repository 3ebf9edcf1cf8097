"""Programs for development and releases."""
