"""The acts of the queue, one script each; `common.lua` stands before every one of them."""
