"""Programs that run inside a box, mounted at ``/box``; standard library and NumPy only."""
