"""The command-line client, one file to download."""
