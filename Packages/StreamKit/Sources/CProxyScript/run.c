#define _GNU_SOURCE
#include "CProxyScript.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// What the documentation of libpacparser (pacparser(3)) declares. It keeps one context per process, in globals: one more reason
// for a process of its own.
static int (*pac_init)(void);
static int (*pac_parse)(const char *script);
static char *(*pac_find)(const char *url, const char *host);
static void (*pac_set_printer)(int (*)(const char *, va_list));

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char missing[256];

static void load(void) {
    void *library = dlopen("libpacparser.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *reason = dlerror();
        snprintf(missing, sizeof missing, "%s", reason ? reason : "it cannot be loaded");
        return;
    }
    *(void **)&pac_init = dlsym(library, "pacparser_init");
    *(void **)&pac_parse = dlsym(library, "pacparser_parse_pac_string");
    *(void **)&pac_find = dlsym(library, "pacparser_find_proxy");
    *(void **)&pac_set_printer = dlsym(library, "pacparser_set_error_printer");
    if (!pac_init || !pac_parse || !pac_find)
        snprintf(missing, sizeof missing, "libpacparser.so.1 lacks functions that its documentation names");
}

const char *netkit_pac_missing(void) {
    pthread_once(&once, load);
    return missing[0] ? missing : NULL;
}

// The memory that this process has mapped, in bytes: a child begins with the same.
static unsigned long mapped(void) {
    unsigned long pages = 0;
    char text[64];
    int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    ssize_t count = read(file, text, sizeof text - 1);
    close(file);
    if (count <= 0) return 0;
    text[count] = 0;
    pages = strtoul(text, NULL, 10);
    return pages * (unsigned long)sysconf(_SC_PAGESIZE);
}

static char words[1024];
static size_t used;

static int print(const char *format, va_list arguments) {
    int count = vsnprintf(words + used, sizeof words - used, format, arguments);
    if (count > 0) used += (size_t)count < sizeof words - used ? (size_t)count : sizeof words - used - 1;
    return count;
}

static void say(int file, const char *text, size_t count) {
    while (count > 0) {
        ssize_t written = write(file, text, count);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) _exit(1);
        text += written;
        count -= (size_t)written;
    }
}

static void fail(int file, char step) {
    say(file, &step, 1);
    say(file, words, used);
    _exit(0);
}

static void limit(int what, unsigned long value) {
    struct rlimit both = {value, value};
    setrlimit(what, &both);
}

// Nothing of the parent's is to be touched from here on: what it has open is closed first, and memory is a copy.
static void child(int file, const char *script, const char *url, const char *host, unsigned seconds, unsigned long memory) {
    signal(SIGALRM, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    alarm(seconds + 1);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, 0);
    limit(RLIMIT_CPU, seconds + 1);
    if (memory) limit(RLIMIT_AS, memory);

    int null = open("/dev/null", O_RDWR);
    for (int standard = 0; standard < 3; standard++)
        if (null >= 0) dup2(null, standard);
    if (file != 3 && dup2(file, 3) < 0) _exit(1);
#ifdef SYS_close_range
    if (syscall(SYS_close_range, 4u, ~0u, 0u) != 0)
#endif
        for (long other = sysconf(_SC_OPEN_MAX) - 1; other > 3; other--) close((int)other);
    limit(RLIMIT_NOFILE, 32);

    if (pac_set_printer) pac_set_printer(print);
    if (!pac_init()) fail(3, 'I');
    if (!pac_parse(script)) fail(3, 'P');
    const char *answer = pac_find(url, host);
    if (!answer) fail(3, 'F');
    say(3, "A", 1);
    say(3, answer, strlen(answer));
    _exit(0);
}

int netkit_pac_start(const char *script, const char *url, const char *host, unsigned seconds, unsigned long bytes,
                     int *process) {
    int ends[2];
    if (netkit_pac_missing()) return -ENOSYS;
    if (pipe2(ends, O_CLOEXEC) != 0) return -errno;
    unsigned long begin = mapped();
    pid_t forked = fork();
    if (forked == 0) child(ends[1], script, url, host, seconds, begin ? begin + bytes : 0);
    int failure = errno;
    close(ends[1]);
    if (forked < 0) {
        close(ends[0]);
        return -failure;
    }
    *process = forked;
    return ends[0];
}

void netkit_pac_end(int process) {
    // 0: it is still there and ours, so that its number cannot be another's. Once killed it is gone within a moment.
    pid_t ended = waitpid(process, NULL, WNOHANG);
    if (ended != 0) return;
    kill(process, SIGKILL);
    while (waitpid(process, NULL, 0) < 0 && errno == EINTR) {}
}
