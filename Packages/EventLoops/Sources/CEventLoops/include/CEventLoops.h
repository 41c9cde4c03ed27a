// Functions that Swift's Glibc module lacks. A shim contains only functions that Swift cannot import, with the reason.
#pragma once
#include <poll.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

// pthread_setname_np is declared only under _GNU_SOURCE, which must not be defined in a header that Swift imports.
void netkit_name_this_thread(const char *name);

// Makes a timerfd of CLOCK_BOOTTIME, and sets it to a time of that clock, in nanoseconds. If Swift imported <sys/timerfd.h>, struct timespec would belong to this module, and files that
// import only Glibc would not find it.
int netkit_make_timer(void);
void netkit_set_timer(int timer, int64_t nanoseconds);

// futex(2): the C library has no function for it, and Swift cannot call the variadic syscall(2). The first waits while the word has
// the value; the second does so for at most a time of CLOCK_MONOTONIC; the third wakes one waiting thread. All preserve errno.
void netkit_wait_while(const void *word, uint32_t value);
void netkit_wait_while_for(const void *word, uint32_t value, int64_t nanoseconds);
void netkit_wake(const void *word);

// A dispatch queue of a program in C, which Swift on Linux cannot name: retains it, releases it, and runs a function on it.
void netkit_queue_retain(void *queue);
void netkit_queue_release(void *queue);
void netkit_queue_run(void *queue, void *context, void (*work)(void *context));

// preadv2 and pwritev2 are declared only under _GNU_SOURCE, too. These return at once (RWF_NOWAIT): with EAGAIN if the disk would be
// needed, with EOPNOTSUPP if the file system cannot tell.
long netkit_read_cached(int descriptor, void *bytes, unsigned long count, long offset);
long netkit_write_cached(int descriptor, const void *bytes, unsigned long count, long offset);

// statx is declared only under _GNU_SOURCE, too, and its field for the mount only with newer headers. Returns the number of the mount that
// an open file belongs to, as in /proc/self/mountinfo; -1 if the kernel does not tell (before Linux 5.8). Also tells the number of the
// device, unless it fails. The disk is not asked.
int64_t netkit_mount_id(int descriptor, uint64_t *device);
