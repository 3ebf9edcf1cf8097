"""React to signals and run queued jobs that keep rows, reports, files and notices current."""
