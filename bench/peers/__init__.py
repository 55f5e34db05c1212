"""The peers: each is a small crawler, written as its own manual recommends, in a process of its own.

    python -m bench.peers.<peer> '{"portal": …, "base": …, "refs": …, "redis_url": …, "store_url": …}'

All of them crawl a whole portal, read the same fields of a listing as the others do (`reading/`), send as many requests
at a time as ours does, log as much, and leave the refs of what they yielded in the file `refs`: whoever yields less
than everything was not measured.
"""
