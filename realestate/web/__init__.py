"""The API and the web app. Both read what the commands read."""
