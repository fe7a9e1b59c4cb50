"""Balls that fly among the walls of feature space.

``wall_dynamics`` reflects or refracts a ball at a wall. ``rolling_ball`` (geodesics) and
``chord_billiard`` (BPM, algorithm 2) sample version spaces. ``replicas`` runs balls on a ladder of
lower walls, for the refractive billiard (``billiard_ball``) and for the evidence
(``noise_ladder``).
"""
