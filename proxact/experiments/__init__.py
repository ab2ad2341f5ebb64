"""One file per experiment of the paper, and what they share: run folders and progress."""
