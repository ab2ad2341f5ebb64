"""The optional C extension. Everything else about the package is in pyproject.toml."""

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "proxact.kernels._cone",
            ["proxact/kernels/cone.c"],
            depends=[f"proxact/kernels/cone_{part}.h" for part in ("kernel", "careful", "isa", "math", "loops")],
            extra_compile_args=["-O2", "-fno-math-errno", "-fno-trapping-math", "-Wno-psabi"],
            py_limited_api=True,
            optional=True,  # without a compiler the install succeeds and the plain function is used
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp310"}},
)
