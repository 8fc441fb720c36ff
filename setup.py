"""The packages of the wheel; everything else is in pyproject.toml.

The folder components/ is installed as ``multiarch_eks``: ``components`` could collide with another package. Its
modules import one another relatively, so both names work. A process uses one of them. The Helm charts are in it.
"""

from setuptools import find_packages, setup

COMPONENTS = find_packages(include=["components", "components.*"])

setup(
    packages=[
        *find_packages(include=["multiarch", "multiarch.*"]),
        *(name.replace("components", "multiarch_eks", 1) for name in COMPONENTS),
        "multiarch_eks.charts",
    ],
    package_dir={"multiarch_eks": "components", "multiarch_eks.charts": "charts"},
)
