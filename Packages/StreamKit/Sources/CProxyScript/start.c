// The side of the program: starts helpers and ends them.
//
// Why the program itself is executed. A script may come from anywhere and is run by an engine in C: it must not find keys or
// passwords in its memory, so that a copy made by fork(2) will not do, and it must not be able to open a file or a socket. That
// takes a program that was executed. SwiftPM builds no program for the users of a library, a program embedded as bytes would be
// one for each processor, and one that is installed may be missing or another's. The program that runs is always there.
//
// Why that is safe. The program runs as a helper only if its argv[0] says so and descriptor 3 is a socket that its parent process made
// (helper.c), so that no user can start a helper by accident or gain anything by doing it on purpose. This side starts one only if
// the constructor that takes over is a part of the executed file, not of a library that was loaded later: else main() would
// run. An installed shared library comes with a helper program instead, in the place that NETKIT_PAC_PROGRAM names. Programs with more privileges than their user are refused, and PR_SET_NO_NEW_PRIVS keeps execve from granting any.

#define _GNU_SOURCE
#include "CProxyScript.h"
#include "helper.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#if defined(__linux__) && defined(__GLIBC__)

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char *missing;
static char helper[PATH_MAX] = "/proc/self/exe"; // the file to execute

// True if the constructor is in the file that the kernel executed, which /proc/self/exe names.
static int is_in_program(void) {
    const ElfW(Phdr) *headers = (const ElfW(Phdr) *)getauxval(AT_PHDR);
    unsigned long count = getauxval(AT_PHNUM);
    uintptr_t hook = (uintptr_t)&netkit_pac_helper, bias = 0;
    if (!headers) return 0;
    for (unsigned long i = 0; i < count; i++) {
        if (headers[i].p_type == PT_PHDR) {
            bias = (uintptr_t)headers - headers[i].p_vaddr;
            break;
        }
        // Some linkers leave PT_PHDR out of static programs; the headers then follow the ELF header in the first segment.
        if (headers[i].p_type == PT_LOAD && headers[i].p_offset == 0)
            bias = (uintptr_t)headers - sizeof(ElfW(Ehdr)) - headers[i].p_vaddr;
    }
    for (unsigned long i = 0; i < count; i++)
        if (headers[i].p_type == PT_LOAD && hook - (bias + headers[i].p_vaddr) < headers[i].p_memsz) return 1;
    return 0;
}

// Finds the helper program beside the shared library that contains this function.
static int find_program(void) {
    Dl_info library;
    char folder[PATH_MAX], path[PATH_MAX + sizeof NETKIT_PAC_PROGRAM];
    if (!dladdr((void *)(uintptr_t)&netkit_pac_helper, &library) || !realpath(library.dli_fname, folder)) return 0;
    char *end = strrchr(folder, '/');
    if (!end) return 0;
    *end = 0;
    snprintf(path, sizeof path, "%s/%s", folder, NETKIT_PAC_PROGRAM);
    return access(path, X_OK) == 0 && realpath(path, helper) != NULL;
}

static void examine(void) {
    if (getauxval(AT_SECURE))
        missing = "a program with more privileges than its user does not run them";
    else if (!is_in_program() && !find_program())
        missing = "a program that loads StreamKit as a shared library does not run them without " NETKIT_PAC_PROGRAM;
}

const char *netkit_pac_missing(void) {
    pthread_once(&once, examine);
    return missing;
}

// Runs in the memory of the parent, which waits: calls into the kernel, and nothing else. Gives the errno of what failed.
static int execute(int file, char *const words[], char *const environment[]) {
    // Above the descriptors that are given below.
    int high = fcntl(file, F_DUPFD, NETKIT_PAC_SOCKET + 1);
    if (high < 0) return errno;
    int null = open("/dev/null", O_RDWR);
    for (int standard = 0; standard < 3; standard++)
        if (null >= 0 && null != standard && dup2(null, standard) < 0) return errno;
    if (dup2(high, NETKIT_PAC_SOCKET) < 0) return errno;
#ifdef SYS_close_range
    if (syscall(SYS_close_range, NETKIT_PAC_SOCKET + 1u, ~0u, 0u) != 0)
#endif
        for (long other = sysconf(_SC_OPEN_MAX) - 1; other > NETKIT_PAC_SOCKET; other--) close((int)other);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno;
    execve(helper, words, environment);
    return errno;
}

static int start(char *const words[], int *process) {
    // What the program needs to start as it did, and what scripts ask for: their rules name times of day.
    static const char *const kept[] = {"LD_LIBRARY_PATH", "TZ"};
    char *copies[2] = {NULL};
    char *environment[] = {NETKIT_PAC_ENVIRONMENT, NULL, NULL, NULL};
    int ends[2], count = 0, failure = 0;
    if (netkit_pac_missing()) return -ENOSYS;
    for (int i = 0; i < 2; i++) {
        const char *value = getenv(kept[i]);
        if (value && asprintf(&copies[count], "%s=%s", kept[i], value) < 0) failure = ENOMEM;
        if (value && !failure) count++;
    }
    memcpy(environment + sizeof environment / sizeof *environment - 3, copies, sizeof copies);
    if (!failure && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) failure = errno;
    if (!failure) {
        // No handler of the program may run in the child while it shares our memory.
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        volatile int in_child = 0;
        pid_t forked = vfork();
        if (forked == 0) {
            in_child = execute(ends[1], words, environment);
            _exit(127);
        }
        if (forked < 0) failure = errno;
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        close(ends[1]);
        if (forked > 0 && in_child) {
            while (waitpid(forked, NULL, 0) < 0 && errno == EINTR) {}
            failure = in_child;
        }
        if (failure) close(ends[0]);
        else *process = forked;
    }
    while (count > 0) free(copies[--count]);
    return failure ? -failure : ends[0];
}

int netkit_pac_start(unsigned seconds, unsigned long bytes, const char *engines, int *process) {
    char limits[2][24];
    snprintf(limits[0], sizeof limits[0], "%u", seconds);
    snprintf(limits[1], sizeof limits[1], "%lu", bytes);
    char *words[] = {NETKIT_PAC_NAME, limits[0], limits[1], (char *)engines, NULL};
    return start(words, process);
}

int netkit_pac_start_calling(long number, const unsigned long arguments[3], const char *engines, int *process) {
    char text[4][24];
    snprintf(text[0], sizeof text[0], "%ld", number);
    for (int i = 0; i < 3; i++) snprintf(text[i + 1], sizeof text[i + 1], "%lu", arguments[i]);
    char *words[] = {NETKIT_PAC_NAME, "10", "67108864", (char *)engines, text[0], text[1], text[2], text[3], NULL};
    return start(words, process);
}

int netkit_pac_end(int process) {
    // 0: it is still there and ours, so that its number cannot be another's. Once killed it is gone within a moment.
    int status = -1;
    pid_t ended = waitpid(process, &status, WNOHANG);
    if (ended == process) return status;
    if (ended != 0) return -1;
    kill(process, SIGKILL);
    while ((ended = waitpid(process, &status, 0)) < 0 && errno == EINTR) {}
    return ended == process ? status : -1;
}

#else

// Without the GNU C library a program cannot load an engine, or its constructors are not given their arguments.
const char *netkit_pac_missing(void) { return "they are run on Linux with the GNU C library only"; }
int netkit_pac_start(unsigned seconds, unsigned long bytes, const char *engines, int *process) { return -ENOSYS; }
int netkit_pac_start_calling(long number, const unsigned long arguments[3], const char *engines, int *process) { return -ENOSYS; }
int netkit_pac_end(int process) { return -1; }

#endif
