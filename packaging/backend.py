# SPDX-License-Identifier: BSD-3-Clause
"""What pip asks of this tree (PEP 517): a wheel, made by packaging/wheel, or a tarball."""
import importlib.machinery
import importlib.util
import io
import os
import subprocess
import tarfile

HERE = os.path.dirname(os.path.realpath(__file__))


def maker():
    path = os.path.join(HERE, "wheel")
    loader = importlib.machinery.SourceFileLoader("fci_wheel", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("fci_wheel", loader))
    loader.exec_module(module)
    return module


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    del config_settings, metadata_directory
    return os.path.basename(maker().make(wheel_directory))


def build_sdist(sdist_directory, config_settings=None):
    del config_settings
    tree = os.path.dirname(HERE)
    name = f"fci_mpi-{maker().version()}"
    names = subprocess.run(["git", "ls-files"], cwd=tree, capture_output=True, text=True,
                           check=True).stdout.split("\n")[:-1]
    path = os.path.join(sdist_directory, f"{name}.tar.gz")
    with tarfile.open(path, "w:gz") as archive:
        for file in names:
            archive.add(os.path.join(tree, file), f"{name}/{file}", recursive=False)
        commit = subprocess.run([os.path.join(HERE, "commit")], capture_output=True, check=True)
        for file, data in (("PKG-INFO", maker().metadata().encode()),
                           (".commit", commit.stdout)):
            entry = tarfile.TarInfo(f"{name}/{file}")
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return os.path.basename(path)
