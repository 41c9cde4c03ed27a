// What Swift on Linux cannot name: event descriptors, the type of dispatch queues, and atomic variables without a lock to initialize them.

#include "DNSServiceRuntime.h"
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <unistd.h>

/// By this name, ServiceDiscovery recognizes the library that is no way to a daemon.
const char netkit_dns_sd[] = "embedded";

int dnss_event_create(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }
void dnss_event_set(int descriptor) { (void)eventfd_write(descriptor, 1); }

void dnss_event_clear(int descriptor) {
    eventfd_t value;
    (void)eventfd_read(descriptor, &value);
}

int dnss_process_is_own(void) {
    static _Atomic pid_t owner;
    pid_t known = 0, current = getpid();
    return atomic_compare_exchange_strong(&owner, &known, current) || known == current;
}

// <dispatch/dispatch.h> is in the toolchain's folder, where the C targets of a package do not find it.
typedef struct dispatch_queue_s *dispatch_queue_t;

DNSServiceErrorType DNSServiceSetDispatchQueue(DNSServiceRef service, dispatch_queue_t queue) { return dnss_set_queue(service, queue); }
