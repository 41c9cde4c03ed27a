// What Swift's Glibc module leaves out. A shim holds only what Swift cannot import by itself, with the reason.
#pragma once
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

// pthread_setname_np is declared only under _GNU_SOURCE, which must not be defined in a header that Swift imports.
void netkit_name_this_thread(const char *name);

// An alarm clock: a timerfd, and setting it anew. <sys/timerfd.h> has the struct timespec in this module, where files that import
// Glibc alone do not find it.
int netkit_make_alarm(void);
void netkit_set_alarm(int alarm, int milliseconds);
