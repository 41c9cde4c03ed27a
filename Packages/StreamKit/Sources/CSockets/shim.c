#define _GNU_SOURCE
#include "CSockets.h"
#include <sys/socket.h>

int netkit_accept4(int descriptor, void *address, unsigned int *length, int flags) {
    return accept4(descriptor, address, length, flags);
}
