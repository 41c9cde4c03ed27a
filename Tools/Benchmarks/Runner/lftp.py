#!/usr/bin/env python3
"""lftp as a rival: runs it once and prints the line of a benchmark program. Includes its start-up: a few milliseconds."""

import json
import os
import resource
import subprocess
import sys
import time

row, *words = sys.argv[1:]
values = dict(word.split("=", 1) for word in words)
url, count = values["url"], int(values.get("count", 1))
# A failure ends the run at once. With cmd:fail-exit, or another file after a failed one, lftp would wait until the runner ends it.
settings = ("set ftp:ssl-allow no; set net:connection-limit 1; set ftp:sync-mode on; set net:max-retries 1; "
            "set net:timeout 20; ")
commands = {
    "read": f"cat {url}",
    "write": f"put /dev/stdin -o {url}",
    "files": f"open {url} && cat " + " ".join(f"small/{number}" for number in range(count)),
    "list": f"open {url} && cls -1 many-{count}",
}
source = subprocess.DEVNULL
if row == "write":  # a sparse file of the requested size
    source = os.memfd_create("upload")
    os.truncate(source, int(values["bytes"]))
    commands[row] = f"put /proc/self/fd/0 -o {url}"
before = resource.getrusage(resource.RUSAGE_CHILDREN)
begin = time.monotonic()
result = subprocess.run(["lftp", "--norc", "-c", settings + commands[row]], stdin=source, stdout=subprocess.DEVNULL,
                        stderr=subprocess.PIPE, text=True)
wall = time.monotonic() - begin
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
if result.returncode != 0:
    sys.exit(f"lftp: {result.stderr.strip()}")
print(json.dumps({
    "wall": wall, "user": usage.ru_utime - before.ru_utime, "system": usage.ru_stime - before.ru_stime,
    "operations": count, "bytes": int(values.get("bytes", 0))}))
