#include "CHostResolverTesting.h"
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

// If the number of the call is this one, goes on to the next statement, which refuses it; otherwise jumps over that.
#define REFUSE(number) \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), \
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error & SECCOMP_RET_DATA))

int netkit_refuse_descriptors(int error) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
#ifdef SYS_open
        REFUSE(SYS_open),
#endif
        REFUSE(SYS_openat), REFUSE(SYS_socket), REFUSE(SYS_socketpair), REFUSE(SYS_accept), REFUSE(SYS_accept4),
        REFUSE(SYS_epoll_create1), REFUSE(SYS_eventfd2), REFUSE(SYS_timerfd_create), REFUSE(SYS_signalfd4),
        REFUSE(SYS_inotify_init1), REFUSE(SYS_memfd_create), REFUSE(SYS_pipe2),
#ifdef SYS_openat2
        REFUSE(SYS_openat2),
#endif
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof filter / sizeof filter[0], .filter = filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno;
    long refused = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
    return refused == 0 ? 0 : refused > 0 ? EBUSY : errno;
}
