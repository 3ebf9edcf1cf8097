"""Report whether the site works: queues, workers, disk."""
