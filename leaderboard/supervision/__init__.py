"""One process that starts, watches and stops everything that an instance consists of. Imports no Django."""
