"""All public answers of a suite with their outcomes and labels, as one file to download."""
