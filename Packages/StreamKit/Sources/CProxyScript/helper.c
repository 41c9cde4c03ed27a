// The side of the helper: takes over before main(), confines itself, and only then reads a script.
//
// Once confined, it can compute, use memory up to a limit, read the clock, and read and write the descriptors that it has, of which one
// is left: the socket. Whatever else it tries, by a flaw of the engine, ends it (seccomp(2)). Where the kernel has no seccomp, it
// still cannot open a descriptor of any kind (RLIMIT_NOFILE is 0), nor start a process.
//
// Names. A script may ask for the addresses of names (dnsResolve, isInNet, myIpAddress). The engine would ask name servers itself,
// for which it would need sockets and files; so the program is asked, by replacing those functions in JavaScript. As a script
// cannot be halted halfway, a function whose answer is not known yet throws, the program looks the name up, and the script runs again
// from its beginning, with that answer.

#define _GNU_SOURCE
#include "CProxyScript.h"
#include "helper.h"

#include <stdio.h>

#if defined(__linux__) && defined(__GLIBC__)

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// MARK: Frames

static void say(char letter, const char *text, size_t count) {
    unsigned char head[5] = {
        (unsigned char)letter, (unsigned char)count, (unsigned char)(count >> 8), (unsigned char)(count >> 16),
        (unsigned char)(count >> 24)};
    for (int part = 0; part < 2; part++) {
        const char *next = part ? text : (const char *)head;
        size_t left = part ? count : sizeof head;
        while (left > 0) {
            ssize_t written = write(NETKIT_PAC_SOCKET, next, left);
            if (written < 0 && errno == EINTR) continue;
            if (written <= 0) _exit(1);
            next += written;
            left -= (size_t)written;
        }
    }
}

static void finish(char letter, const char *text, size_t count) {
    say(letter, text, count);
    _exit(0);
}

static void take(void *into, size_t count) {
    char *next = into;
    while (count > 0) {
        ssize_t got = read(NETKIT_PAC_SOCKET, next, count);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) _exit(0);
        next += got;
        count -= (size_t)got;
    }
}

// The text of the next frame, ended by a NUL. The program is trusted; a frame of 4 MiB is an error all the same.
static char *hear(char letter, size_t *count) {
    unsigned char head[5];
    take(head, sizeof head);
    *count = head[1] | head[2] << 8 | head[3] << 16 | (size_t)head[4] << 24;
    if (head[0] != (unsigned char)letter || *count > 4u << 20) _exit(1);
    char *text = malloc(*count + 1);
    if (!text) _exit(1);
    take(text, *count);
    text[*count] = 0;
    return text;
}

// MARK: Confinement

// The memory of this process in bytes, 0 if it is unknown: all that is mapped, and the private writable part, which includes the stack.
struct memory {
    unsigned long mapped, writable;
};

static struct memory measure(void) {
    struct memory memory = {0, 0};
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file) return memory;
    if (fscanf(file, "%lu %*u %*u %*u %*u %lu", &memory.mapped, &memory.writable) != 2) memory = (struct memory){0, 0};
    fclose(file);
    unsigned long page = (unsigned long)sysconf(_SC_PAGESIZE);
    memory.mapped *= page;
    memory.writable *= page;
    return memory;
}

static void limit(int what, unsigned long value) {
    struct rlimit both = {value, value};
    setrlimit(what, &both);
}

#if defined(__x86_64__)
#define NETKIT_PAC_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NETKIT_PAC_ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

// Whatever is not needed for computing ends the process, as does memory that is to hold code.
static void filter(void) {
#ifdef NETKIT_PAC_ARCHITECTURE
    static const int plain[] = {
        SYS_read, SYS_pread64, SYS_write, SYS_exit, SYS_exit_group, SYS_brk, SYS_munmap, SYS_mremap, SYS_madvise, SYS_futex,
        SYS_rt_sigreturn, SYS_rt_sigprocmask, SYS_restart_syscall, SYS_sched_yield, SYS_clock_gettime, SYS_gettimeofday,
        SYS_getrandom,
#ifdef SYS_time
        SYS_time,
#endif
    };
    static const int mapping[] = {SYS_mmap, SYS_mprotect};
    struct sock_filter program[2 * sizeof plain / sizeof *plain + 32];
    unsigned short count = 0;
    const unsigned allow = SECCOMP_RET_ALLOW;
    program[count++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
    program[count++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NETKIT_PAC_ARCHITECTURE, 1, 0);
    program[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    program[count++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        program[count++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)plain[i], 0, 1);
        program[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, allow);
    }
    program[count++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)mapping[0], 1, 0);
    program[count++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)mapping[1], 0, 3);
    // The lower half of the third argument (little-endian): what the memory is for.
    program[count++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) + 2 * sizeof(__u64));
    program[count++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 1, 0);
    program[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, allow);
    program[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    struct sock_fprog whole = {count, program};
    // For threads too, which a constructor of another library may have started.
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &whole) != 0)
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &whole, 0, 0);
#endif
}

static void confine(unsigned seconds, unsigned long bytes) {
    signal(SIGALRM, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    alarm(seconds + 1);
    struct memory begin = measure();
    for (int standard = 0; standard < NETKIT_PAC_SOCKET; standard++) close(standard);
#ifdef SYS_close_range
    if (syscall(SYS_close_range, NETKIT_PAC_SOCKET + 1u, ~0u, 0u) != 0)
#endif
        for (long other = sysconf(_SC_OPEN_MAX) - 1; other > NETKIT_PAC_SOCKET; other--) close((int)other);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, 0);
    limit(RLIMIT_NOFILE, 0);
    limit(RLIMIT_NPROC, 0);
    limit(RLIMIT_CPU, seconds + 1);
    if (begin.mapped) limit(RLIMIT_AS, begin.mapped + bytes);
    // What an engine has reserved before counts as mapped, but becomes writable only when it is used.
    if (begin.writable) limit(RLIMIT_DATA, begin.writable + bytes);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    filter();
}

// MARK: The script

static struct netkit_pac_engine engine;

// Statements that tell the engine all that was looked up.
static char *known;
static size_t length;

// Has the program look up what the script wants, and gives the statement that tells the engine.
static const char *look_up(const char *wanted) {
    size_t count, begin = length;
    say(wanted[0] == 'O' ? 'O' : 'N', wanted + 1, wanted[0] == 'O' ? 0 : strlen(wanted + 1));
    char *addresses = hear('L', &count);
    // The name is the script's own; the addresses were made from numbers.
    size_t size = length + 4 * strlen(wanted) + count + 32;
    known = realloc(known, size);
    if (!known) _exit(1);
    length += (size_t)sprintf(known + length, "netkitFound('");
    for (const char *next = wanted; *next; next++)
        length += (size_t)sprintf(known + length, "\\x%02x", (unsigned char)*next);
    length += (size_t)sprintf(known + length, "','%s');\n", addresses);
    free(addresses);
    return known + begin;
}

static void fail(char letter) { finish(letter, netkit_pac_words, strlen(netkit_pac_words)); }

// What an answer wants; NULL if it is one.
static const char *wanted(const char *answer) { return answer[0] == NETKIT_PAC_MARK ? answer + 1 : NULL; }

// Evaluates the script as often as its own statements want names.
static void evaluate(const char *script, const char *url, const char *host) {
    for (;;) {
        if (!engine.begin() || !engine.evaluate(netkit_pac_functions) || (known && !engine.evaluate(known))) fail('I');
        int is_whole = engine.evaluate(script);
        char complaint[sizeof netkit_pac_words];
        memcpy(complaint, netkit_pac_words, sizeof complaint);
        const char *pending = engine.evaluate("netkitBegin();") ? engine.call("netkitPending", url, host) : NULL;
        if (pending && wanted(pending) && *wanted(pending)) {
            look_up(wanted(pending));
            engine.end();
            continue;
        }
        if (!is_whole) finish('P', complaint, strlen(complaint));
        return;
    }
}

static void run(void) {
    size_t count;
    char *url = hear('Q', &count);
    char *host = memchr(url, 0, count);
    char *script = host ? memchr(host + 1, 0, count - (size_t)(host + 1 - url)) : NULL;
    if (!script) _exit(1);
    host++;
    script++;
    evaluate(script, url, host);
    for (;;) {
        const char *answer = engine.call("netkitFind", url, host);
        if (!answer) fail('F');
        if (!wanted(answer)) finish('A', answer, strlen(answer));
        if (!*wanted(answer) || !engine.evaluate(look_up(wanted(answer)))) fail('F');
    }
}

__attribute__((constructor)) void netkit_pac_helper(int count, char **arguments) {
    // Not from the arguments: they are read only in a program that is a helper.
    if (!program_invocation_name || strcmp(program_invocation_name, NETKIT_PAC_NAME) != 0) return;
    struct ucred parent;
    socklen_t size = sizeof parent;
    int is_ours = !getauxval(AT_SECURE) && count >= 4 &&
                  getsockopt(NETKIT_PAC_SOCKET, SOL_SOCKET, SO_PEERCRED, &parent, &size) == 0 && parent.pid == getppid();
    // This is the program's own file: under this name, its main() must not run.
    if (!is_ours) _exit(127);

    prctl(PR_SET_NAME, "proxy script");
    if (!netkit_pac_load(&engine, arguments[3])) finish('M', NULL, 0);
    confine((unsigned)strtoul(arguments[1], NULL, 10), strtoul(arguments[2], NULL, 10));
    say('R', engine.name, strlen(engine.name));
    if (count >= 8) {
        char next;
        take(&next, 1);
        unsigned long values[3];
        for (int i = 0; i < 3; i++) values[i] = strtoul(arguments[i + 5], NULL, 10);
        syscall(strtol(arguments[4], NULL, 10), values[0], values[1], values[2]);
        _exit(0);
    }
    run();
}

#else

void netkit_pac_helper(int count, char **words) {}

#endif
