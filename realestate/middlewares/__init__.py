"""How pages are fetched: proxies, identities, retries, ban detection, robots.txt, and the download handler."""
