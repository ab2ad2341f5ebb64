"""Try activations in a training script that exists: :func:`trial` is its one new line, ``proxact try`` runs it."""

from .model import trial

__all__ = ["trial"]
