"""What pyproject.toml cannot say: the dashboard's files, which stand beside the package, are installed within it."""

from setuptools import find_packages, setup

setup(packages=[*find_packages(include=["ragviz*"]), "ragviz._app"], package_dir={"ragviz._app": "."})
