"""Active sets with several kernels or classes, in which a point brings a group of columns."""
