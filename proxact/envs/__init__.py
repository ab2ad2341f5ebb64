"""Vectorised environments for the reinforcement-learning experiment. They need the extra ``rl``."""

from .ant import AntVec

__all__ = ["AntVec"]
