"""The operations of the queue, one script each. `common.lua` is put before every script."""
