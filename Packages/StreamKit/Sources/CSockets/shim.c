#define _GNU_SOURCE
#include "CSockets.h"
#include <sys/socket.h>
#include <sys/uio.h>

int netkit_accept4(int descriptor, void *address, unsigned int *length, int flags) {
    return accept4(descriptor, address, length, flags);
}

long netkit_read_cached(int descriptor, void *bytes, unsigned long count, long offset) {
    struct iovec part = {.iov_base = bytes, .iov_len = count};
    return preadv2(descriptor, &part, 1, offset, RWF_NOWAIT);
}

long netkit_write_cached(int descriptor, const void *bytes, unsigned long count, long offset) {
    struct iovec part = {.iov_base = (void *)bytes, .iov_len = count};
    return pwritev2(descriptor, &part, 1, offset, RWF_NOWAIT);
}
