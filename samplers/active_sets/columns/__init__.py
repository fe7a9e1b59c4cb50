"""Whitened columns of an active set. Only the modules of this folder write into them."""
