// What Swift's Glibc module leaves out. A shim holds only what Swift cannot import by itself, with the reason.
#pragma once
#include <poll.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

// pthread_setname_np is declared only under _GNU_SOURCE, which must not be defined in a header that Swift imports.
void netkit_name_this_thread(const char *name);

// An alarm clock: a timerfd, and setting it anew. <sys/timerfd.h> has the struct timespec in this module, where files that import
// Glibc alone do not find it.
int netkit_make_alarm(void);
void netkit_set_alarm(int alarm, int milliseconds);

// futex(2): the C library has no function for it, and Swift cannot call the variadic syscall(2). The first waits while the word has
// the value, the second wakes one waiting thread. Both preserve errno.
void netkit_wait_while(const void *word, uint32_t value);
void netkit_wake(const void *word);
