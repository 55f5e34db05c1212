"""The first files of a portal, by where its data sits."""
