"""The client, one file that people download."""
