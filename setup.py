"""Everything is in pyproject.toml; this is for tools that still ask for a setup.py."""

from setuptools import setup

setup()
