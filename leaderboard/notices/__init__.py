"""Notify users, on the site and by e-mail, about their submissions, appeals and answers to label."""
