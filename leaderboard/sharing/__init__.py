"""Share results: snapshots, files of all answers, pictures, and the client."""
