// A disk, or a network file system, that takes 100 ms for each read at an offset and for each write to a file. Loaded in front of the C
// library (LD_PRELOAD).
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

static void wait_for_the_disk(void) {
    struct timespec time = {.tv_sec = 0, .tv_nsec = 100 * 1000 * 1000};
    nanosleep(&time, 0);
}

ssize_t pread(int descriptor, void *buffer, size_t count, off_t offset) {
    static ssize_t (*next)(int, void *, size_t, off_t);
    if (!next) next = (ssize_t (*)(int, void *, size_t, off_t))dlsym(RTLD_NEXT, "pread");
    wait_for_the_disk();
    return next(descriptor, buffer, count, offset);
}

ssize_t pread64(int descriptor, void *buffer, size_t count, off64_t offset) {
    static ssize_t (*next)(int, void *, size_t, off64_t);
    if (!next) next = (ssize_t (*)(int, void *, size_t, off64_t))dlsym(RTLD_NEXT, "pread64");
    wait_for_the_disk();
    return next(descriptor, buffer, count, offset);
}

// The same disk for reads that must not wait: nothing is in memory.
ssize_t preadv2(int descriptor, const void *parts, int count, off_t offset, int flags) {
    (void)descriptor, (void)parts, (void)count, (void)offset, (void)flags;
    errno = EAGAIN;
    return -1;
}

// Pipes and event descriptors are written without a disk.
ssize_t write(int descriptor, const void *bytes, size_t count) {
    static ssize_t (*next)(int, const void *, size_t);
    if (!next) next = (ssize_t (*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    struct stat status;
    int number = errno;
    if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode)) wait_for_the_disk();
    errno = number;
    return next(descriptor, bytes, count);
}
