"""The control groups of this process, which limit what a container may use (Linux)."""

from __future__ import annotations

from pathlib import Path

CGROUP_ROOT = Path("/sys/fs/cgroup")
OWN_CGROUP = Path("/proc/self/cgroup")


def own_cgroups(controller: str, root: Path, own: Path) -> list[Path]:
    """The directories of this process's control groups (version 1 or 2), each followed by those around it."""
    try:
        lines = own.read_text().splitlines()
    except OSError:
        return []
    found: list[Path] = []
    for line in lines:
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers and controller not in controllers.split(","):
            continue
        top = root / controllers if controllers else root
        folder = top / path.lstrip("/")
        # Inside a container the path may be the host's, which is not mounted: its root is ours then.
        folder = folder if ".." not in folder.parts and folder.is_dir() else top
        while True:
            found.append(folder)
            if folder == top:
                break
            folder = folder.parent
    return found
