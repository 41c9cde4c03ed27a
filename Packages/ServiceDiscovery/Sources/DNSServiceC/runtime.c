// What Swift on Linux cannot name: event descriptors, and the type of dispatch queues.

#include "DNSServiceRuntime.h"
#include <sys/eventfd.h>

/// By this name, ServiceDiscovery recognizes the library that is no way to a daemon.
const char netkit_dns_sd[] = "embedded";

int dnss_event_create(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }
void dnss_event_set(int descriptor) { (void)eventfd_write(descriptor, 1); }

void dnss_event_clear(int descriptor) {
    eventfd_t value;
    (void)eventfd_read(descriptor, &value);
}

// <dispatch/dispatch.h> is in the toolchain's folder, where the C targets of a package do not find it.
typedef struct dispatch_queue_s *dispatch_queue_t;

DNSServiceErrorType DNSServiceSetDispatchQueue(DNSServiceRef service, dispatch_queue_t queue) { return dnss_set_queue(service, queue); }
