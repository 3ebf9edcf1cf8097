"""Give results away: snapshots, files of all answers, pictures, and the client."""
