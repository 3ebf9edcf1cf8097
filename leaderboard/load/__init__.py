"""Fill an instance with made-up submissions, to measure it at sizes that it may reach in years."""
