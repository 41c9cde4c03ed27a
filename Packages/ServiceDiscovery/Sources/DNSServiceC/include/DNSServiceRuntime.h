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

/// Whether the calling process is the one that called this first. One that it has forked has none of its threads, and perhaps locks that
/// they held.
int dnss_process_is_own(void);

/// Defined in Swift: sets the queue of a reference; NULL removes it.
DNSServiceErrorType dnss_set_queue(DNSServiceRef service, void *queue);

#ifdef __cplusplus
}
#endif

#endif
