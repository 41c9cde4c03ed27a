// Runs a proxy auto-configuration script in a process of its own. In C, because Swift has no fork(), and because a child of a
// program with threads must not run Swift.
#pragma once

// Why libpacparser cannot be used; NULL if it can. Loads it the first time.
const char *netkit_pac_missing(void);

// Starts the process. Gives a descriptor from which its answer can be read up to the end, or -errno; sets `process`.
//
// The answer is a letter and a text: A and what the script said; I, P or F and the library's words if it could not begin, if
// the script cannot be parsed, or if it failed. Nothing at all if the process was ended: by the limits below, or by a crash.
//
// seconds: of processor time, and after which it ends in any case. bytes: of memory beyond what this process has.
int netkit_pac_start(const char *script, const char *url, const char *host, unsigned seconds, unsigned long bytes,
                     int *process);

// Ends the process if it still runs, and forgets it.
void netkit_pac_end(int process);
