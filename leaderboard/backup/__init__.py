"""Back up an instance into one archive that either database can be restored from."""
