// What Swift on Linux cannot name: event descriptors and dispatch queues.

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
extern void dispatch_retain(void *object);
extern void dispatch_release(void *object);
extern void dispatch_async_f(void *queue, void *context, void (*work)(void *));

void dnss_queue_retain(void *queue) { dispatch_retain(queue); }
void dnss_queue_release(void *queue) { dispatch_release(queue); }
void dnss_queue_run(void *queue, void *context, void (*work)(void *)) { dispatch_async_f(queue, context, work); }

DNSServiceErrorType DNSServiceSetDispatchQueue(DNSServiceRef service, dispatch_queue_t queue) { return dnss_set_queue(service, queue); }
