"""Parse agents' trajectories, the files that come with answers, into steps."""
