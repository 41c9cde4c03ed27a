// What Swift's Glibc module leaves out. A shim holds only what Swift cannot import by itself, with the reason.
#pragma once

// accept4 is declared only under _GNU_SOURCE, which must not be defined in a header that Swift imports. Without it a
// process started by another thread would inherit the descriptor before CLOEXEC is set. The types are spelled out, since
// <sys/socket.h> included here would make its types this module's in Swift.
int netkit_accept4(int descriptor, void *address, unsigned int *length, int flags);
