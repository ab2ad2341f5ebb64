"""The optional C extensions. Everything else about the package is in pyproject.toml."""

from setuptools import Extension, setup


def kernel(name: str, *headers: str) -> Extension:
    return Extension(
        f"proxact.kernels._{name}",
        [f"proxact/kernels/{name}.c"],
        depends=[f"proxact/kernels/{name}_{header}.h" for header in headers],
        extra_compile_args=["-O2", "-fno-math-errno", "-fno-trapping-math", "-Wno-psabi"],
        py_limited_api=True,
        optional=True,  # without a compiler the install succeeds and the plain function is used
    )


setup(
    ext_modules=[
        kernel("cone", "kernel", "careful", "isa", "math", "loops"),
        kernel("winners", "kernel"),
        kernel("winograd", "kernel"),
    ],
    options={"bdist_wheel": {"py_limited_api": "cp310"}},
)
