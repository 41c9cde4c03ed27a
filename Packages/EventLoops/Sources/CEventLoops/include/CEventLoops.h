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
// the value; the second wakes one waiting thread. Both preserve errno.
void netkit_wait_while(const void *word, uint32_t value);
void netkit_wake(const void *word);
