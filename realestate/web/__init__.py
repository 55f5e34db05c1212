"""The API and the web app, over the same questions as the command line."""
