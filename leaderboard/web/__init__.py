"""Serve pages: views, forms, table files, and the page cache."""
