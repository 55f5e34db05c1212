"""The pages: HTML made on the server, with templates, scripts and styles that are served from here only."""
