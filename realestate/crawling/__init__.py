"""What all portals share: the portal spider, paging, search splitting, page families, seeds, job completion."""
