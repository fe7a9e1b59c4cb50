"""Ladders of tempered posteriors: rungs, reweighting, and power tempering of active sets."""
