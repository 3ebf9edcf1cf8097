"""Find out what works on this host and what does not (``manage.py doctor``)."""
