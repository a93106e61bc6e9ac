"""A package, so that imports between its files are followed."""
