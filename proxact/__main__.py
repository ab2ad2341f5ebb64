"""The command line: ``proxact <command>`` or ``python -m proxact <command>``."""

from __future__ import annotations

from pathlib import Path

import tyro


def info() -> None:
    """Print versions, threads and the active backend."""
    from .info import print_info

    print_info()


def plot(out: Path = Path("figures")) -> None:
    """Draw the projection field for m = 2 and the cone for m = 3.

    Args:
        out: folder for the pictures.
    """
    try:
        from .plot import draw_all
    except ModuleNotFoundError as error:
        raise SystemExit(f"proxact plot needs {error.name}: pip install 'proxact[experiments]'") from error

    print("Each picture shows a projection onto the cone C_alpha^(m), the activation of this library.")
    for path, caption in draw_all(out):
        print(f"  {path}  {caption}")


def bench(out: Path = Path("bench-output"), quick: bool = False, rounds: int = 25, compiled: bool = True) -> None:
    """Time activations and training steps as ratios to ReLU.

    Args:
        out: folder for bench.json and bench.png.
        quick: fewer cases.
        rounds: interleaved rounds for each case.
        compiled: also the plain function under torch.compile; needs a C++ compiler, and minutes to compile.
    """
    from .bench.run import run

    run(out, quick, rounds, compiled)


def main() -> None:
    commands = {"info": info, "plot": plot, "bench": bench}
    tyro.extras.subcommand_cli_from_dict(commands, prog="proxact", description=__doc__)


if __name__ == "__main__":
    main()
