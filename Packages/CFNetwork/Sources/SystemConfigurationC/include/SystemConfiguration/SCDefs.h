#ifndef SYSTEMCONFIGURATION_SCDEFS_H
#define SYSTEMCONFIGURATION_SCDEFS_H

// What the other headers of SystemConfiguration share: CoreFoundation, and the name of a dispatch queue's type. The caller releases what a function with
// Create or Copy in its name returns. A call that fails writes nothing to a pointer of the caller.
#include <CFNetwork/CFNetworkDefs.h>

// <dispatch/dispatch.h> declares the same type. Swift's Dispatch has a class instead.
#if !defined(__HAS_DISPATCH__) && !defined(__cplusplus) && !defined(__swift__)
typedef struct dispatch_queue_s *dispatch_queue_t;
#endif

#endif
