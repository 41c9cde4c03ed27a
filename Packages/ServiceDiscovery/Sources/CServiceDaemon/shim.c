#define _GNU_SOURCE
#include "CServiceDaemon.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#if __has_include(<dns_sd.h>)
#include <dns_sd.h>
#define AGREES(member, function)                                                                                       \
    _Static_assert(                                                                                                    \
        __builtin_types_compatible_p(__typeof__(((netkit_daemon *)0)->member), __typeof__(&function)), #function)
AGREES(begin_registration, DNSServiceRegister);
AGREES(update_record, DNSServiceUpdateRecord);
AGREES(query_record, DNSServiceQueryRecord);
AGREES(reconfirm, DNSServiceReconfirmRecord);
AGREES(process_result, DNSServiceProcessResult);
AGREES(descriptor, DNSServiceRefSockFD);
AGREES(deallocate, DNSServiceRefDeallocate);
#endif

// Avahi's library prints three lines on standard error at its first call, unless an environment variable is set.
// setenv(3) would be unsafe, because other threads may be reading the environment. Instead, the environment is replaced
// by a copy with the variable, and restored after a call that does nothing else. Other threads may still read either
// list; neither is ever freed, and the variable keeps the copy reachable for tools that search lost memory.
static char **environment_of_first_call;

static void make_first_call_in_silence(const netkit_daemon *functions) {
    char **before = environ;
    size_t count = 0;
    while (before && before[count]) count++;
    char **with = malloc((count + 2) * sizeof *with);
    if (!with) return;
    environment_of_first_call = with;
    if (count) memcpy(with, before, count * sizeof *with);
    with[count] = "AVAHI_COMPAT_NOWARN=1";
    with[count + 1] = NULL;
    __atomic_store_n(&environ, with, __ATOMIC_RELEASE);
    (void)functions->descriptor(NULL);
    // Does nothing if another thread has set a variable in the meantime.
    (void)__atomic_compare_exchange_n(&environ, &(char **){with}, before, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

// The allocation functions of Avahi's libraries (avahi-common/malloc.h). When the daemon ends, its library for dns_sd.h
// reads members that it has never initialized. In zeroed memory they are null, which it handles.
struct allocator {
    void *(*malloc)(size_t size);
    void (*free)(void *memory);
    void *(*realloc)(void *memory, size_t size);
    void *(*calloc)(size_t count, size_t size);
};

static void *clear_memory(size_t size) { return calloc(1, size); }

static const struct allocator clearing = {clear_memory, free, realloc, calloc};

// The library of this package defines this name. It contains the engine itself, and does not reach a daemon.
static const char name_of_embedded[] = "netkit_dns_sd";

// Whether a file is another copy of that library, which must not be loaded: a process has its code at most once.
static bool is_embedded(const char *path) {
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return false;
    struct stat status;
    void *bytes = MAP_FAILED;
    if (fstat(descriptor, &status) == 0 && status.st_size > 0)
        bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    close(descriptor);
    if (bytes == MAP_FAILED) return false;
    bool is_found = memmem(bytes, (size_t)status.st_size, name_of_embedded, sizeof name_of_embedded) != NULL;
    munmap(bytes, (size_t)status.st_size);
    return is_found;
}

// Loads the daemon's library from the folders where the dynamic linker looks for libraries, behind the embedded one, which has the same
// name. The functions that it calls itself are its own, although the program's functions of that name come first.
static void *load_hidden(void *embedded) {
    Dl_serinfo size;
    if (dlinfo(embedded, RTLD_DI_SERINFOSIZE, &size) != 0) return NULL;
    Dl_serinfo *folders = malloc(size.dls_size);
    if (!folders) return NULL;
    *folders = size;
    void *library = NULL;
    if (dlinfo(embedded, RTLD_DI_SERINFO, folders) == 0)
        for (unsigned index = 0; index < folders->dls_cnt && !library; index++) {
            char path[PATH_MAX];
            int length = snprintf(path, sizeof path, "%s/libdns_sd.so.1", folders->dls_serpath[index].dls_name);
            if (length >= (int)sizeof path || access(path, R_OK) != 0 || is_embedded(path)) continue;
            library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
        }
    free(folders);
    return library;
}

bool netkit_daemon_load(netkit_daemon *functions) {
    void *library = dlopen("libdns_sd.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) library = dlopen("libdns_sd.so", RTLD_NOW | RTLD_LOCAL);
    if (library && dlsym(library, name_of_embedded)) library = load_hidden(library);
    if (!library) return false;
#define FIND(member, name) (*(void **)&functions->member = dlsym(library, name)) != NULL
    bool is_whole = FIND(begin_registration, "DNSServiceRegister") && FIND(update_record, "DNSServiceUpdateRecord") &&
                    FIND(query_record, "DNSServiceQueryRecord") && FIND(reconfirm, "DNSServiceReconfirmRecord") &&
                    FIND(process_result, "DNSServiceProcessResult") && FIND(descriptor, "DNSServiceRefSockFD") &&
                    FIND(deallocate, "DNSServiceRefDeallocate");
    if (!is_whole) return false;
    // Avahi's library lacks this function; all others have it.
    functions->is_avahi = dlsym(library, "DNSServiceGetAddrInfo") == NULL;
    if (functions->is_avahi) {
        void (*set_allocator)(const struct allocator *);
        *(void **)&set_allocator = dlsym(library, "avahi_set_allocator");
        if (set_allocator) set_allocator(&clearing);
        functions->reconfirm = NULL;
        make_first_call_in_silence(functions);
    }
    return true;
}
