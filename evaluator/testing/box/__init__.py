"""What runs inside a box. The two modules here are mounted at ``/box`` and use only the standard library and NumPy."""
