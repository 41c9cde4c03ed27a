#ifndef SYSTEMCONFIGURATION_RUNTIME_H
#define SYSTEMCONFIGURATION_RUNTIME_H

// The interface between SystemConfigurationC and SystemConfigurationEngine. The functions are defined in C, unless it is said otherwise.

#include <SystemConfiguration/SystemConfiguration.h>

CF_EXTERN_C_BEGIN

/// Sets the result of SCError on this thread.
void scn_error_set(int status);

/// Defined in Swift: sets the queue of a session or a target; NULL removes it.
Boolean scn_store_set_queue(SCDynamicStoreRef _Nullable store, void *_Nullable queue);
Boolean scn_reachability_set_queue(SCNetworkReachabilityRef _Nullable target, void *_Nullable queue);

CF_EXTERN_C_END

#endif
