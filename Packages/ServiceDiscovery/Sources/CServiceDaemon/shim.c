#define _GNU_SOURCE
#include "CServiceDaemon.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
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

bool netkit_daemon_load(netkit_daemon *functions) {
    void *library = dlopen("libdns_sd.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) library = dlopen("libdns_sd.so", RTLD_NOW | RTLD_LOCAL);
    // The library of this package has the engine itself: it is no way to a daemon.
    if (!library || dlsym(library, "netkit_dns_sd")) return false;
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
