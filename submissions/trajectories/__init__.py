"""Read what agents did from the files that come with answers."""
