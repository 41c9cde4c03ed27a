#ifndef DNS_SERVICE_RUNTIME_H
#define DNS_SERVICE_RUNTIME_H

// The interface between DNSServiceC and DNSServiceEngine. The functions are defined in C, unless it is said otherwise.

#include "dns_sd.h"

#ifdef __cplusplus
extern "C" {
#endif

/// An event descriptor: readable after it is set, until it is cleared. Created, or -1.
int dnss_event_create(void);
void dnss_event_set(int descriptor);
void dnss_event_clear(int descriptor);

/// A dispatch queue, which Swift on Linux cannot name. Retains it, releases it, and runs a function on it.
void dnss_queue_retain(void *queue);
void dnss_queue_release(void *queue);
void dnss_queue_run(void *queue, void *context, void (*work)(void *context));

/// Defined in Swift: sets the queue of a reference; NULL removes it.
DNSServiceErrorType dnss_set_queue(DNSServiceRef service, void *queue);

#ifdef __cplusplus
}
#endif

#endif
