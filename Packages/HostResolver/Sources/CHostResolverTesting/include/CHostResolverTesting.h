#pragma once

// Makes every call of the process that opens a file or a socket fail with an error, from now on and on all threads.
// Returns 0, or an errno. Requires no privilege. Cannot be taken back.
int netkit_refuse_descriptors(int error);
