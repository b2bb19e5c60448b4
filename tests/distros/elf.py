# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What an executable needs of the system it runs on, as readelf says."""
import re
import subprocess


def readelf(option, path):
    return subprocess.run(["readelf", option, "--wide", path], check=True, text=True,
                          capture_output=True).stdout


def needs(path):
    """The dynamic linker, libraries and versions of symbols that it asks for; []: nothing."""
    return (re.findall(r"^ *(INTERP) ", readelf("--program-headers", path), re.M)
            + re.findall(r"\((NEEDED)\).*\[(.*)\]", readelf("--dynamic", path))
            + re.findall(r"Name: (GLIBC\w*_[\d.]+)", readelf("--version-info", path)))


def machine(path):
    """As in the names of wheels: x86_64 or aarch64."""
    name = re.search(r"Machine: +(.*)", readelf("--file-header", path))[1]
    return {"Advanced Micro Devices X86-64": "x86_64", "AArch64": "aarch64"}[name]
