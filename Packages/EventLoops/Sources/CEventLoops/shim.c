#define _GNU_SOURCE
#include "CEventLoops.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

void netkit_name_this_thread(const char *name) { pthread_setname_np(pthread_self(), name); }

int netkit_make_timer(void) { return timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC); }

void netkit_set_timer(int timer, int64_t nanoseconds) {
    if (nanoseconds < 1) nanoseconds = 1; // zero would stop the timer
    struct itimerspec time = {.it_value = {.tv_sec = nanoseconds / 1000000000, .tv_nsec = nanoseconds % 1000000000}};
    timerfd_settime(timer, TFD_TIMER_ABSTIME, &time, NULL);
}

void netkit_wait_while(const void *word, uint32_t value) {
    int number = errno;
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
    errno = number;
}

void netkit_wait_while_for(const void *word, uint32_t value, int64_t nanoseconds) {
    int number = errno;
    struct timespec time = {.tv_sec = nanoseconds / 1000000000, .tv_nsec = nanoseconds % 1000000000};
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &time, NULL, 0);
    errno = number;
}

void netkit_wake(const void *word) {
    int number = errno;
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    errno = number;
}

long netkit_read_cached(int descriptor, void *bytes, unsigned long count, long offset) {
    struct iovec part = {.iov_base = bytes, .iov_len = count};
    return preadv2(descriptor, &part, 1, offset, RWF_NOWAIT);
}

long netkit_write_cached(int descriptor, const void *bytes, unsigned long count, long offset) {
    struct iovec part = {.iov_base = (void *)bytes, .iov_len = count};
    return pwritev2(descriptor, &part, 1, offset, RWF_NOWAIT);
}

int64_t netkit_mount_id(int descriptor, uint64_t *device) {
#ifdef STATX_MNT_ID
    const unsigned int mount = STATX_MNT_ID;
#else
    const unsigned int mount = 0;
#endif
    struct statx status;
    if (statx(descriptor, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, mount, &status) != 0) return -1;
    *device = makedev(status.stx_dev_major, status.stx_dev_minor);
#ifdef STATX_MNT_ID
    if (status.stx_mask & mount) return (int64_t)status.stx_mnt_id;
#endif
    return -1;
}

// <dispatch/dispatch.h> is in the toolchain's folder, where the C targets of a package do not find it.
extern void dispatch_retain(void *object);
extern void dispatch_release(void *object);
extern void dispatch_async_f(void *queue, void *context, void (*work)(void *));

void netkit_queue_retain(void *queue) { dispatch_retain(queue); }
void netkit_queue_release(void *queue) { dispatch_release(queue); }
void netkit_queue_run(void *queue, void *context, void (*work)(void *)) { dispatch_async_f(queue, context, work); }
