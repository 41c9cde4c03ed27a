#define _GNU_SOURCE
#include "CEventLoops.h"
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

void netkit_name_this_thread(const char *name) { pthread_setname_np(pthread_self(), name); }

int netkit_make_timer(void) { return timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC); }

void netkit_set_timer(int timer, int milliseconds) {
    struct itimerspec time = {.it_value = {.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000L}};
    timerfd_settime(timer, 0, &time, NULL);
}

void netkit_wait_while(const void *word, uint32_t value) {
    int number = errno;
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
    errno = number;
}

void netkit_wake(const void *word) {
    int number = errno;
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    errno = number;
}
