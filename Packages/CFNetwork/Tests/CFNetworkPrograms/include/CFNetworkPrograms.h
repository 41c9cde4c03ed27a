#ifndef CFNETWORK_PROGRAMS_H
#define CFNETWORK_PROGRAMS_H

#include <CFNetwork/CFNetwork.h>

// Programs in C that the tests run. Each returns NULL, or the text of the first condition that does not hold.

/// Requests and responses: created, filled, serialized, copied.
const char *_Nullable CFNetworkMessageProgram(void);

/// Received messages, at every split of their bytes.
const char *_Nullable CFNetworkReceivingProgram(void);

/// Every class of errors: constants and their texts.
const char *_Nullable CFNetworkConstantsProgram(void);

/// A toolchain that lacks what this library needs.
const char *_Nullable CFNetworkToolchainProgram(void);

/// Pairs of streams to a host, an address and a socket, blocking.
const char *_Nullable CFNetworkPairsProgram(void);

/// A bound pair.
const char *_Nullable CFNetworkBoundPairProgram(void);

/// Streams that fail to open.
const char *_Nullable CFNetworkErrorsProgram(void);

/// Events on a run loop.
const char *_Nullable CFNetworkEventsProgram(void);

/// Blocking calls of scheduled streams.
const char *_Nullable CFNetworkMixedProgram(void);

/// The states of streams, and what reading and writing returns in each.
const char *_Nullable CFNetworkStatesProgram(void);

/// What messages accept, and phrases.
const char *_Nullable CFNetworkMessageRulesProgram(void);

/// Requests as they are sent, and responses of all kinds, with the order of events.
const char *_Nullable CFNetworkTransfersProgram(void);

/// Events on a dispatch queue.
const char *_Nullable CFNetworkQueueProgram(void);

/// Properties: values that are honoured and refused.
const char *_Nullable CFNetworkSettingsProgram(void);

/// A SOCKS proxy that refuses.
const char *_Nullable CFNetworkSOCKSProgram(void);

/// TLS on both sides of a pair of sockets; the argument is the server's certificate and key.
const char *_Nullable CFNetworkTLSProgram(const char *_Nonnull pem);

/// TLS that begins on open streams; the argument is the server's certificate and key.
const char *_Nullable CFNetworkUpgradeProgram(const char *_Nonnull pem);

/// HTTP requests, blocking.
const char *_Nullable CFNetworkHTTPProgram(void);

/// HTTP requests with streamed bodies.
const char *_Nullable CFNetworkUploadProgram(void);

/// Persistent connections and proxies of HTTP streams.
const char *_Nullable CFNetworkHTTPConnectionsProgram(void);

/// An HTTP request on a run loop.
const char *_Nullable CFNetworkHTTPEventsProgram(void);

/// Authentication with Basic, Digest and NTLM, of servers and of a proxy.
const char *_Nullable CFNetworkAuthenticationProgram(void);

/// Lookups of hosts, blocking.
const char *_Nullable CFNetworkHostProgram(void);

/// Lookups of hosts on a run loop.
const char *_Nullable CFNetworkHostEventsProgram(void);

/// Pairs of streams to hosts.
const char *_Nullable CFNetworkHostStreamsProgram(void);

/// Services as objects, and TXT records.
const char *_Nullable CFNetworkServiceProgram(void);

/// A service that is registered, found, resolved, connected to, monitored and withdrawn.
const char *_Nullable CFNetworkServicesProgram(void);

/// The proxies of settings.
const char *_Nullable CFNetworkProxiesProgram(void);

/// Scripts that choose proxies, by a call that waits and on a run loop.
const char *_Nullable CFNetworkScriptsProgram(void);

/// Every object that leaves the library is one of CoreFoundation.
const char *_Nullable CFNetworkObjectsProgram(void);

/// The functions that return an object without a reference, on several threads. The arguments are resolved.
const char *_Nullable CFNetworkThreadsProgram(CFHostRef _Nonnull host, CFNetServiceRef _Nonnull service);

/// Diagnoses of a URL and of streams.
const char *_Nullable CFNetworkDiagnosticsProgram(void);

/// FTP transfers.
const char *_Nullable CFNetworkFTPProgram(void);

/// The events of FTP streams on a run loop.
const char *_Nullable CFNetworkFTPEventsProgram(void);

/// The lines of a listing.
const char *_Nullable CFNetworkListingProgram(void);

/// The keys and constants of SystemConfiguration, and its errors.
const char *_Nullable CFNetworkStoreKeysProgram(void);

/// The values of the dynamic store.
const char *_Nullable CFNetworkStoreProgram(void);

/// Changes of the proxies on a run loop and on a queue.
const char *_Nullable CFNetworkStoreChangesProgram(void);

/// The reachability of names, addresses and pairs.
const char *_Nullable CFNetworkReachabilityProgram(void);

/// Changes of the reachability on a run loop and on a queue.
const char *_Nullable CFNetworkReachabilityEventsProgram(void);

/// A session and a target that are scheduled by several threads.
const char *_Nullable CFNetworkScheduleThreadsProgram(void);

/// Internet passwords in a keychain of its own, through their items.
const char *_Nullable CFNetworkKeychainProgram(void);

/// The keychain where a message bus is missing or fails.
const char *_Nullable CFNetworkKeychainServiceProgram(void);

/// Internet passwords as dictionaries.
const char *_Nullable CFNetworkItemsProgram(void);

/// The memory of a process that no longer has a password.
const char *_Nullable CFNetworkKeychainMemoryProgram(void);

/// Invalid arguments of the keychain's functions, and a damaged keychain.
const char *_Nullable CFNetworkKeychainMistakesProgram(void);

/// One item on several threads.
const char *_Nullable CFNetworkKeychainThreadsProgram(void);

/// Certificates and policies, which openssl(1) makes.
const char *_Nullable CFNetworkCertificatesProgram(void);

/// Verdicts about certificates.
const char *_Nullable CFNetworkTrustProgram(void);

/// Verdicts for one policy and for several, compared with those of openssl(1).
const char *_Nullable CFNetworkPoliciesProgram(void);

/// Identities of bundles, and streams with them.
const char *_Nullable CFNetworkIdentityProgram(void);

/// One trust object on several threads.
const char *_Nullable CFNetworkTrustThreadsProgram(void);

/// Invalid arguments of Security and SystemConfiguration. A certificate with this DER is one of the objects.
const char *_Nullable CFNetworkMistakesProgram(const UInt8 *_Nonnull bytes, CFIndex count);

/// The arguments that this program passes, each as the function's name, a space and its own; NULL behind the last one.
const char *_Nullable CFNetworkMistakeName(int index);

#endif
