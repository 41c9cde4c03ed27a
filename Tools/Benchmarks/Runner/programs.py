"""Builds the benchmark programs, each when a row first needs it."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from peers import Unavailable

ROOT = Path(__file__).resolve().parent.parent
RIVALS = {"bench-nio", "bench-nio-tls", "bench-ahc", "bench-hummingbird"}


class Programs:
    """The paths of the built programs. `NETKIT_BENCH_BUILD` sets another folder for the build products."""

    def __init__(self, directory, build=True):
        self.stripped_directory = directory
        self.build = build
        self.results = {}

    def path(self, program):
        """The path of the program, built if necessary; raises Unavailable, also for every later use."""
        if program not in self.results:
            try:
                self.results[program] = self.built(program)
            except Unavailable as reason:
                self.results[program] = reason
        if isinstance(self.results[program], Unavailable):
            raise self.results[program]
        return self.results[program]

    def stripped(self, program):
        """A copy without debug information, because valgrind 3.19 cannot read Swift's DWARF 5."""
        copy = self.stripped_directory / program
        if not copy.exists():
            subprocess.run(["strip", "-g", "-o", copy, self.path(program)], check=True)
        return copy

    def built(self, program):
        if program == "lftp":
            if not shutil.which("lftp"):
                raise Unavailable("lftp is not installed (Scripts/bootstrap --bench)")
            return Path(__file__).resolve().parent / "lftp.py"
        if program == "bench-cfnetwork":
            return self.built_with_installed_cfnetwork()
        package = ROOT / "Rivals" if program in RIVALS else ROOT
        elsewhere = os.environ.get("NETKIT_BENCH_BUILD")
        scratch = Path(elsewhere).resolve() / package.name if elsewhere else package / ".build"
        path = scratch / "release" / program
        if not self.build:
            if not path.exists():
                raise Unavailable("not built")
            return path
        first = "" if path.exists() else " (the first time takes minutes)" if program in RIVALS else ""
        print(f"building {program}{first} … ", end="", file=sys.stderr, flush=True)
        begin = time.monotonic()
        result = subprocess.run(
            ["swift", "build", "-c", "release", "--package-path", package, "--scratch-path", scratch,
             "--product", program], capture_output=True, text=True)
        print(f"{time.monotonic() - begin:.0f} s", file=sys.stderr)
        if result.returncode != 0:
            errors = [line for line in (result.stdout + result.stderr).splitlines() if "error:" in line]
            print("\n".join(errors) or result.stderr, file=sys.stderr)
            raise Unavailable("the build failed, see above")
        return path

    def built_with_installed_cfnetwork(self):
        """Compiles the program in C as a user of the installed library does."""
        if not self.build:
            raise Unavailable("not built: each run installs the library in a temporary folder")
        prefix = self.stripped_directory / "cfnetwork"
        result = subprocess.run(
            [ROOT.parent.parent / "Scripts" / "install", "--cfnetwork", "--prefix", prefix], capture_output=True, text=True)
        if result.returncode != 0:
            raise Unavailable(f"CFNetwork was not installed: {result.stderr.strip()}")
        environment = os.environ | {"PKG_CONFIG_PATH": f"{prefix}/lib/pkgconfig"}
        options = [subprocess.run(["pkg-config", kind, "CFNetwork"], env=environment, capture_output=True, text=True).stdout.split()
                   for kind in ("--cflags", "--libs")]
        path, measure = prefix / "bench-cfnetwork", ROOT / "Sources" / "CMeasure"
        sources = [ROOT / "CFNetwork" / "cfnetwork.c", measure / "measure.c"]
        result = subprocess.run(
            ["cc", "-O2", "-D_GNU_SOURCE", f"-I{measure / 'include'}", *options[0], *sources, *options[1], "-o", path],
            capture_output=True, text=True)
        if result.returncode != 0:
            raise Unavailable(result.stderr.strip())
        return path
