"""Finds and removes personal data: names, telephone numbers, e-mail addresses, messenger accounts."""
