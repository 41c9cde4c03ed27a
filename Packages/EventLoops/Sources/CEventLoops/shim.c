#define _GNU_SOURCE
#include "CEventLoops.h"
#include <pthread.h>
#include <sys/timerfd.h>

void netkit_name_this_thread(const char *name) { pthread_setname_np(pthread_self(), name); }

int netkit_make_alarm(void) { return timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC); }

void netkit_set_alarm(int alarm, int milliseconds) {
    struct itimerspec time = {.it_value = {.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000L}};
    timerfd_settime(alarm, 0, &time, NULL);
}
