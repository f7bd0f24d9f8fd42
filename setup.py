"""Everything is in pyproject.toml but the compiled engine of analysis.flows, which is optional.

Without cargo, or without a network for its crates, the installation goes on and the plain engine
is used.
"""

from setuptools import setup
from setuptools_rust import Binding, RustExtension

ENGINE = RustExtension(
    "analysis.flows._core",
    path="analysis/flows/core/Cargo.toml",
    binding=Binding.PyO3,
    py_limited_api=True,
    debug=False,
    optional=True,
)

setup(rust_extensions=[ENGINE])
