#ifndef _DNS_SD_H
/// The version of the interface, major * 10000 + minor * 100 + patch, as DNSServiceGetProperty returns it.
#define _DNS_SD_H 7650000

// DNS Service Discovery (RFC 6763) by multicast DNS (RFC 6762), as Apple documents dns_sd.h. The engine is part of the library; no
// daemon is necessary. The environment variable NETKIT_DNS_SD chooses the system's daemon instead: "daemon", or "automatic" for a daemon if one
// answers; "embedded" is the default. A reference may be used on any thread, but by one at a time.
//
// Functions return kDNSServiceErr_NoError or an error: kDNSServiceErr_BadParam for a missing or invalid argument,
// kDNSServiceErr_BadReference for a reference that is released or of another kind, kDNSServiceErr_BadInterfaceIndex for an interface that
// does not exist, kDNSServiceErr_NoMemory without memory or descriptors. Then no reference is created, and the place for it is not changed. Names are text in UTF-8, in which DNSServiceConstructFullName escapes
// dots, backslashes and spaces. The domain of an operation is the default one if it is empty or missing. Ports are in network byte order.
//
// Replies come in DNSServiceProcessResult or on a dispatch queue, and never inside the call that begins an operation. Their texts and data are valid
// until the reply returns. A reply may release references, its own as well. An operation lasts until its reference is released, or until a
// reply with an error other than kDNSServiceErr_NoSuchRecord, which is the last one. Name servers that do not answer are no error: they are asked
// again, after ten seconds to five minutes and when the network changes.
//
// The engine is a thread of the process. A process that is forked after the first operation or connection does not have it: there,
// functions that begin or use an operation return kDNSServiceErr_ServiceNotRunning, DNSServiceRefSockFD returns -1, and DNSServiceRefDeallocate has no
// effect. A program that calls daemon(3) registers afterwards. After exec, everything works.
//
// Not declared, so that a program that needs them fails when it is compiled: the flags of DNSSEC (…EnableDNSSEC, …Validate, …ValidateOptional, …Secure,
// …Insecure, …Bogus, …Indeterminate); attributes and queued requests (DNSServiceAttribute…, DNSService…WithAttribute, DNSServiceSendQueuedRequests,
// kDNSServiceAAAAPolicy…, kDNSServiceFlagsQueueRequest); what Apple's header calls private or reserved (kDNSServiceFlagsPrivate…, kDNSServiceFlagsThreshold…,
// kDNSServiceInterfaceIndexInfra).

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#ifndef _DNS_SD_LIBDISPATCH
/// 1, defined by a program before it includes this file, declares DNSServiceSetDispatchQueue, for which <dispatch/dispatch.h> is necessary.
#define _DNS_SD_LIBDISPATCH 0
#endif
#if _DNS_SD_LIBDISPATCH
#include <dispatch/dispatch.h>
#endif

/// The calling convention of the functions and callbacks: that of the platform.
#define DNSSD_API

#ifdef __cplusplus
extern "C" {
#endif

/// An operation, or a connection that operations share, until DNSServiceRefDeallocate.
typedef struct _DNSServiceRef_t *DNSServiceRef;

/// A record that was added or registered, until DNSServiceRemoveRecord or the end of its operation.
typedef struct _DNSRecordRef_t *DNSRecordRef;

/// A set of flags.
typedef uint32_t DNSServiceFlags;

/// A set of protocols.
typedef uint32_t DNSServiceProtocol;

/// The result of a function.
typedef int32_t DNSServiceErrorType;

/// The flags of operations and replies. A flag that an operation does not know has no effect.
enum {
    /// Another reply of the connection waits already: this call of DNSServiceProcessResult or the next one makes it. A program can delay drawing until a reply
    /// lacks this flag.
    kDNSServiceFlagsMoreComing = 0x1,
    /// Has no effect.
    kDNSServiceFlagsAutoTrigger = 0x1,
    /// In a reply: the service, domain, record or address was found. Without it, that one is gone.
    kDNSServiceFlagsAdd = 0x2,
    /// In a reply of DNSServiceEnumerateDomains: the domain that a program uses if its user has chosen none.
    kDNSServiceFlagsDefault = 0x4,
    /// DNSServiceRegister: a name that is taken is an error (kDNSServiceErr_NameConflict), and not replaced by another one.
    kDNSServiceFlagsNoAutoRename = 0x8,
    /// DNSServiceRegisterRecord: other hosts may have records of the same name and type.
    kDNSServiceFlagsShared = 0x10,
    /// DNSServiceRegisterRecord: only this host has records of that name and type. The name is probed for first.
    kDNSServiceFlagsUnique = 0x20,
    /// DNSServiceEnumerateDomains: the domains in which services can be browsed.
    kDNSServiceFlagsBrowseDomains = 0x40,
    /// DNSServiceEnumerateDomains: the domains in which services can be registered.
    kDNSServiceFlagsRegistrationDomains = 0x80,
    /// Has no effect: each query runs until its reference is released.
    kDNSServiceFlagsLongLivedQuery = 0x100,
    /// Has no effect: queries from other links are not answered.
    kDNSServiceFlagsAllowRemoteQuery = 0x200,
    /// DNSServiceQueryRecord, DNSServiceGetAddrInfo: the link is asked by multicast, although the name is not in `local`.
    kDNSServiceFlagsForceMulticast = 0x400,
    /// Has no effect.
    kDNSServiceFlagsForce = 0x800,
    /// DNSServiceRegisterRecord: as kDNSServiceFlagsUnique, without a probe on Apple's systems. It is probed for.
    kDNSServiceFlagsKnownUnique = 0x800,
    /// Has no effect: that a record does not exist is always reported (kDNSServiceErr_NoSuchRecord).
    kDNSServiceFlagsReturnIntermediates = 0x1000,
    /// The reference that is passed in is a copy of one of DNSServiceCreateConnection. The operation gets a reference of its own, and its replies come through that connection.
    kDNSServiceFlagsShareConnection = 0x4000,
    /// Has no effect.
    kDNSServiceFlagsSuppressUnusable = 0x8000,
    /// DNSServiceQueryRecord, DNSServiceGetAddrInfo: without an answer for 30 seconds, also of name servers, the last reply is kDNSServiceErr_Timeout.
    kDNSServiceFlagsTimeout = 0x10000,
    /// Has no effect.
    kDNSServiceFlagsIncludeP2P = 0x20000,
    /// Has no effect.
    kDNSServiceFlagsWakeOnResolve = 0x40000,
    /// Has no effect.
    kDNSServiceFlagsBackgroundTrafficClass = 0x80000,
    /// Has no effect.
    kDNSServiceFlagsIncludeAWDL = 0x100000,
    /// Has no effect: the first query of a name asks for a unicast response (RFC 6762 section 5.4).
    kDNSServiceFlagsUnicastResponse = 0x400000,
    /// Has no effect: there is no sleep proxy.
    kDNSServiceFlagsWakeOnlyService = 0x1000000,
    /// Is in no reply: answers of the cache and of the network are not distinguished.
    kDNSServiceFlagAnsweredFromCache = 0x40000000,
};

/// Has no effect: a record that has expired is not known any more. Not an enumerator, because C before C23 limits these to the values of int.
#define kDNSServiceFlagsAllowExpiredAnswers ((DNSServiceFlags)0x80000000)

/// Is in no reply, for the same reason.
#define kDNSServiceFlagsExpiredAnswer ((DNSServiceFlags)0x80000000)

/// The errors.
enum {
    /// Success.
    kDNSServiceErr_NoError = 0,
    /// The operation failed for another reason.
    kDNSServiceErr_Unknown = -65537,
    /// The name does not exist.
    kDNSServiceErr_NoSuchName = -65538,
    /// There is not enough memory, or the buffer is too small.
    kDNSServiceErr_NoMemory = -65539,
    /// An argument is invalid.
    kDNSServiceErr_BadParam = -65540,
    /// The reference was released, or is no reference of that kind.
    kDNSServiceErr_BadReference = -65541,
    /// The replies come on a dispatch queue, or the service or record is not published any more.
    kDNSServiceErr_BadState = -65542,
    /// The flags are invalid, or exclude each other.
    kDNSServiceErr_BadFlags = -65543,
    /// The function, the type of records or the interface is not supported.
    kDNSServiceErr_Unsupported = -65544,
    /// The reference was not initialized. Not returned.
    kDNSServiceErr_NotInitialized = -65545,
    /// The record is registered already. Not returned.
    kDNSServiceErr_AlreadyRegistered = -65547,
    /// The name is taken by another host or program.
    kDNSServiceErr_NameConflict = -65548,
    /// A key, a value or an item of a TXT record is invalid.
    kDNSServiceErr_Invalid = -65549,
    /// A firewall is in the way. Not returned.
    kDNSServiceErr_Firewall = -65550,
    /// The library and the daemon have different versions. Not returned.
    kDNSServiceErr_Incompatible = -65551,
    /// There is no such interface, or it does not support multicast.
    kDNSServiceErr_BadInterfaceIndex = -65552,
    /// A limit of the engine is reached.
    kDNSServiceErr_Refused = -65553,
    /// The name has no record of that type.
    kDNSServiceErr_NoSuchRecord = -65554,
    /// The operation is not allowed. Not returned.
    kDNSServiceErr_NoAuth = -65555,
    /// The TXT record has no such key.
    kDNSServiceErr_NoSuchKey = -65556,
    /// A port could not be mapped. Not returned.
    kDNSServiceErr_NATTraversal = -65557,
    /// There are two address translators in a row. Not returned.
    kDNSServiceErr_DoubleNAT = -65558,
    /// The clocks differ. Not returned.
    kDNSServiceErr_BadTime = -65559,
    /// A signature is invalid. Not returned.
    kDNSServiceErr_BadSig = -65560,
    /// A key is invalid. Not returned.
    kDNSServiceErr_BadKey = -65561,
    /// The failure is temporary. Not returned.
    kDNSServiceErr_Transient = -65562,
    /// There is no daemon, or the process was forked after the first operation.
    kDNSServiceErr_ServiceNotRunning = -65563,
    /// The router maps no ports. Not returned.
    kDNSServiceErr_NATPortMappingUnsupported = -65564,
    /// The router maps no ports just now. Not returned.
    kDNSServiceErr_NATPortMappingDisabled = -65565,
    /// There is no router. Not returned.
    kDNSServiceErr_NoRouter = -65566,
    /// The name server is asked again and again. Not returned.
    kDNSServiceErr_PollingMode = -65567,
    /// There was no answer in time.
    kDNSServiceErr_Timeout = -65568,
    /// The connection is not usable any more. Not returned.
    kDNSServiceErr_DefunctConnection = -65569,
    /// A policy forbids the operation. Not returned.
    kDNSServiceErr_PolicyDenied = -65570,
    /// The operation is not permitted. Not returned.
    kDNSServiceErr_NotPermitted = -65571,
    /// An answer is older than another one. Not returned.
    kDNSServiceErr_StaleData = -65572,
};

/// The protocols of DNSServiceGetAddrInfo and DNSServiceNATPortMappingCreate.
enum {
    kDNSServiceProtocol_IPv4 = 0x01,
    kDNSServiceProtocol_IPv6 = 0x02,
    kDNSServiceProtocol_UDP = 0x10,
    kDNSServiceProtocol_TCP = 0x20,
};

/// The class of records: the Internet.
enum {
    kDNSServiceClass_IN = 1,
};

/// The types of records.
enum {
    kDNSServiceType_A = 1,
    kDNSServiceType_NS = 2,
    kDNSServiceType_MD = 3,
    kDNSServiceType_MF = 4,
    kDNSServiceType_CNAME = 5,
    kDNSServiceType_SOA = 6,
    kDNSServiceType_MB = 7,
    kDNSServiceType_MG = 8,
    kDNSServiceType_MR = 9,
    kDNSServiceType_NULL = 10,
    kDNSServiceType_WKS = 11,
    kDNSServiceType_PTR = 12,
    kDNSServiceType_HINFO = 13,
    kDNSServiceType_MINFO = 14,
    kDNSServiceType_MX = 15,
    kDNSServiceType_TXT = 16,
    kDNSServiceType_RP = 17,
    kDNSServiceType_AFSDB = 18,
    kDNSServiceType_X25 = 19,
    kDNSServiceType_ISDN = 20,
    kDNSServiceType_RT = 21,
    kDNSServiceType_NSAP = 22,
    kDNSServiceType_NSAP_PTR = 23,
    kDNSServiceType_SIG = 24,
    kDNSServiceType_KEY = 25,
    kDNSServiceType_PX = 26,
    kDNSServiceType_GPOS = 27,
    kDNSServiceType_AAAA = 28,
    kDNSServiceType_LOC = 29,
    kDNSServiceType_NXT = 30,
    kDNSServiceType_EID = 31,
    kDNSServiceType_NIMLOC = 32,
    kDNSServiceType_SRV = 33,
    kDNSServiceType_ATMA = 34,
    kDNSServiceType_NAPTR = 35,
    kDNSServiceType_KX = 36,
    kDNSServiceType_CERT = 37,
    kDNSServiceType_A6 = 38,
    kDNSServiceType_DNAME = 39,
    kDNSServiceType_SINK = 40,
    kDNSServiceType_OPT = 41,
    kDNSServiceType_APL = 42,
    kDNSServiceType_DS = 43,
    kDNSServiceType_SSHFP = 44,
    kDNSServiceType_IPSECKEY = 45,
    kDNSServiceType_RRSIG = 46,
    kDNSServiceType_NSEC = 47,
    kDNSServiceType_DNSKEY = 48,
    kDNSServiceType_DHCID = 49,
    kDNSServiceType_NSEC3 = 50,
    kDNSServiceType_NSEC3PARAM = 51,
    kDNSServiceType_HIP = 55,
    kDNSServiceType_SVCB = 64,
    kDNSServiceType_HTTPS = 65,
    kDNSServiceType_SPF = 99,
    kDNSServiceType_UINFO = 100,
    kDNSServiceType_UID = 101,
    kDNSServiceType_GID = 102,
    kDNSServiceType_UNSPEC = 103,
    kDNSServiceType_TKEY = 249,
    kDNSServiceType_TSIG = 250,
    kDNSServiceType_IXFR = 251,
    kDNSServiceType_AXFR = 252,
    kDNSServiceType_MAILB = 253,
    kDNSServiceType_MAILA = 254,
    kDNSServiceType_ANY = 255,
};

/// The most bytes of a service's name with its final NUL.
#define kDNSServiceMaxServiceName 64

/// The most bytes of a full name with its escapes and its final NUL.
#define kDNSServiceMaxDomainName 1009

/// All interfaces that support multicast.
#define kDNSServiceInterfaceIndexAny 0

/// This machine only: what is registered there is found there, by operations with this index.
#define kDNSServiceInterfaceIndexLocalOnly ((uint32_t)-1)

/// Name servers only. Not supported.
#define kDNSServiceInterfaceIndexUnicast ((uint32_t)-2)

/// Links between two devices. Not supported.
#define kDNSServiceInterfaceIndexP2P ((uint32_t)-3)

/// Bluetooth. Not supported.
#define kDNSServiceInterfaceIndexBLE ((uint32_t)-4)

/// The property of DNSServiceGetProperty that has the version: a uint32_t.
#define kDNSServiceProperty_DaemonVersion "DaemonVersion"

// References

/// Copies a property, of which there is one: kDNSServiceProperty_DaemonVersion. The size is that of the buffer, and then that of the value.
///
/// Returns kDNSServiceErr_Unsupported for another property; kDNSServiceErr_NoMemory for a buffer that is too small.
DNSServiceErrorType DNSSD_API DNSServiceGetProperty(const char *property, void *result, uint32_t *size);

/// The descriptor that is readable exactly while a reply waits. -1 for an operation that shares a connection, and for an invalid reference. It
/// must be neither read nor closed.
int DNSSD_API DNSServiceRefSockFD(DNSServiceRef sdRef);

/// Makes the replies that wait, at most 64. Waits while there is none, and while another thread is in a reply of the reference: replies never
/// overlap. Returns kDNSServiceErr_BadState if the reference has a dispatch queue; kDNSServiceErr_BadReference for an operation that shares a connection,
/// whose replies its connection makes.
DNSServiceErrorType DNSSD_API DNSServiceProcessResult(DNSServiceRef sdRef);

/// Ends an operation: no reply follows, and what it registered is withdrawn. A connection ends all operations that share it; their
/// references are then invalid. On another thread than that of a reply, the reply may still be running. NULL and released references are ignored.
void DNSSD_API DNSServiceRefDeallocate(DNSServiceRef sdRef);

/// Creates a connection that operations share with kDNSServiceFlagsShareConnection.
DNSServiceErrorType DNSSD_API DNSServiceCreateConnection(DNSServiceRef *sdRef);

#if _DNS_SD_LIBDISPATCH
/// Makes the replies of a reference on a dispatch queue, one at a time, in place of a former one; NULL ends that. When this function or
/// DNSServiceRefDeallocate has returned on the former queue, no reply follows there. Returns kDNSServiceErr_BadReference for an operation that shares a
/// connection, whose replies are those of its connection.
DNSServiceErrorType DNSSD_API DNSServiceSetDispatchQueue(DNSServiceRef service, dispatch_queue_t queue);
#endif

// Domains

/// Reports a domain that was found (kDNSServiceFlagsAdd) or is gone. With an error, the domain is NULL.
typedef void (DNSSD_API *DNSServiceDomainEnumReply)(
    DNSServiceRef sdRef, DNSServiceFlags flags, uint32_t interfaceIndex, DNSServiceErrorType errorCode, const char *replyDomain, void *context);

/// Finds the domains in which to browse (kDNSServiceFlagsBrowseDomains) or to register (kDNSServiceFlagsRegistrationDomains). Returns
/// kDNSServiceErr_BadFlags unless the flags name one of the two.
DNSServiceErrorType DNSSD_API DNSServiceEnumerateDomains(
    DNSServiceRef *sdRef, DNSServiceFlags flags, uint32_t interfaceIndex, DNSServiceDomainEnumReply callBack, void *context);

// Registration

/// Reports the name under which a service is registered (kDNSServiceFlagsAdd), again after each change of it, or why it is not: with an error,
/// the name is the one that was asked for.
typedef void (DNSSD_API *DNSServiceRegisterReply)(
    DNSServiceRef sdRef, DNSServiceFlags flags, DNSServiceErrorType errorCode, const char *name, const char *regtype, const char *domain,
    void *context);

/// Registers a service, whose port need not be of this program. NULL stands for the name of this computer. A type is `_http._tcp`, and may be
/// followed by subtypes, each after a comma. A host other than NULL is the one that has the service; its addresses are registered elsewhere.
/// Without a TXT record, the service has one with an empty item. Of a record, the items that RFC 6763 section 6.4 ignores are left out. The callback may be
/// NULL.
///
/// Returns kDNSServiceErr_Unsupported for a domain other than `local`; kDNSServiceErr_BadParam for a TXT record whose last item is cut short, or that is
/// too long for a packet.
DNSServiceErrorType DNSSD_API DNSServiceRegister(
    DNSServiceRef *sdRef, DNSServiceFlags flags, uint32_t interfaceIndex, const char *name, const char *regtype, const char *domain, const char *host,
    uint16_t port, uint16_t txtLen, const void *txtRecord, DNSServiceRegisterReply callBack, void *context);

/// Adds a record to the name of a registered service. A time to live of 0 is the usual one of the type.
DNSServiceErrorType DNSSD_API DNSServiceAddRecord(
    DNSServiceRef sdRef, DNSRecordRef *RecordRef, DNSServiceFlags flags, uint16_t rrtype, uint16_t rdlen, const void *rdata, uint32_t ttl);

/// Replaces the data of a record that was added or registered, or, without one (NULL), the TXT record of a service, which keeps its time to live. For other
/// records, a time to live of 0 is the usual one of the type.
///
/// Returns kDNSServiceErr_BadParam for a TXT record of a service whose last item is cut short.
DNSServiceErrorType DNSSD_API DNSServiceUpdateRecord(
    DNSServiceRef sdRef, DNSRecordRef RecordRef, DNSServiceFlags flags, uint16_t rdlen, const void *rdata, uint32_t ttl);

/// Withdraws a record that was added or registered. Its reference is then invalid.
DNSServiceErrorType DNSSD_API DNSServiceRemoveRecord(DNSServiceRef sdRef, DNSRecordRef RecordRef, DNSServiceFlags flags);

/// Reports that a record is registered, or why it is not (such as kDNSServiceErr_NameConflict).
typedef void (DNSSD_API *DNSServiceRegisterRecordReply)(
    DNSServiceRef sdRef, DNSRecordRef RecordRef, DNSServiceFlags flags, DNSServiceErrorType errorCode, void *context);

/// Registers a record of any name in `local`, on a connection of DNSServiceCreateConnection. The flags name kDNSServiceFlagsShared, kDNSServiceFlagsUnique or
/// kDNSServiceFlagsKnownUnique; otherwise the result is kDNSServiceErr_BadFlags. A time to live of 0 is the usual one of the type. Returns
/// kDNSServiceErr_Unsupported for another name and for another class than kDNSServiceClass_IN.
DNSServiceErrorType DNSSD_API DNSServiceRegisterRecord(
    DNSServiceRef sdRef, DNSRecordRef *RecordRef, DNSServiceFlags flags, uint32_t interfaceIndex, const char *fullname, uint16_t rrtype,
    uint16_t rrclass, uint16_t rdlen, const void *rdata, uint32_t ttl, DNSServiceRegisterRecordReply callBack, void *context);

// Browsing and resolving

/// Reports a service that was found on an interface (kDNSServiceFlagsAdd) or is gone there. With an error, name, type and domain are NULL.
typedef void (DNSSD_API *DNSServiceBrowseReply)(
    DNSServiceRef sdRef, DNSServiceFlags flags, uint32_t interfaceIndex, DNSServiceErrorType errorCode, const char *serviceName,
    const char *regtype, const char *replyDomain, void *context);

/// Browses for services of a type, or of its first subtype (`_http._tcp,_printer`). The type `_services._dns-sd._udp` lists the types of all services
/// (RFC 6763 section 9): a reply has `_http` as name, `_tcp.local.` as type and `.` as domain for `_http._tcp` in `local`.
DNSServiceErrorType DNSSD_API DNSServiceBrowse(
    DNSServiceRef *sdRef, DNSServiceFlags flags, uint32_t interfaceIndex, const char *regtype, const char *domain, DNSServiceBrowseReply callBack,
    void *context);

/// Reports where a service is: its host, its port, and its TXT record. With an error, the full name is the one of the service, the host and the record
/// are NULL, and the numbers 0.
typedef void (DNSSD_API *DNSServiceResolveReply)(
    DNSServiceRef sdRef, DNSServiceFlags flags, uint32_t interfaceIndex, DNSServiceErrorType errorCode, const char *fullname,
    const char *hosttarget, uint16_t port, uint16_t txtLen, const unsigned char *txtRecord, void *context);

/// Resolves a service that DNSServiceBrowse has reported, once for each interface and again after each change.
DNSServiceErrorType DNSSD_API DNSServiceResolve(
    DNSServiceRef *sdRef, DNSServiceFlags flags, uint32_t interfaceIndex, const char *name, const char *regtype, const char *domain,
    DNSServiceResolveReply callBack, void *context);

// Records and addresses

/// Reports a record that was found (kDNSServiceFlagsAdd) or is gone; kDNSServiceErr_NoSuchRecord if its owner or a name server says that there is none. Names in the data are
/// not compressed. The time to live is in seconds. With an error, the name is the one that was asked for, and the data is empty.
typedef void (DNSSD_API *DNSServiceQueryRecordReply)(
    DNSServiceRef sdRef, DNSServiceFlags flags, uint32_t interfaceIndex, DNSServiceErrorType errorCode, const char *fullname, uint16_t rrtype,
    uint16_t rrclass, uint16_t rdlen, const void *rdata, uint32_t ttl, void *context);

/// Queries the records of a name: by multicast in `local`, otherwise of name servers. Returns kDNSServiceErr_Unsupported for kDNSServiceType_ANY
/// and for another class than kDNSServiceClass_IN.
DNSServiceErrorType DNSSD_API DNSServiceQueryRecord(
    DNSServiceRef *sdRef, DNSServiceFlags flags, uint32_t interfaceIndex, const char *fullname, uint16_t rrtype, uint16_t rrclass,
    DNSServiceQueryRecordReply callBack, void *context);

/// Reports an address that was found (kDNSServiceFlagsAdd) or is gone; kDNSServiceErr_NoSuchRecord if the host has none of a family. The scope of a
/// link-local address is its interface. With an error, the name is the one that was asked for, and the address consists of zeros. It has the family of which
/// the host has none; with another error, that of the query, or AF_INET for both.
typedef void (DNSSD_API *DNSServiceGetAddrInfoReply)(
    DNSServiceRef sdRef, DNSServiceFlags flags, uint32_t interfaceIndex, DNSServiceErrorType errorCode, const char *hostname,
    const struct sockaddr *address, uint32_t ttl, void *context);

/// Queries the addresses of a host, of the protocols or, without any, of both families.
DNSServiceErrorType DNSSD_API DNSServiceGetAddrInfo(
    DNSServiceRef *sdRef, DNSServiceFlags flags, uint32_t interfaceIndex, DNSServiceProtocol protocol, const char *hostname,
    DNSServiceGetAddrInfoReply callBack, void *context);

/// Reports that a record may be stale, on one interface or on all. It is queried again there, and operations lose it after ten seconds unless it is confirmed (RFC 6762 section 10.4).
/// Returns kDNSServiceErr_Unsupported for another class than kDNSServiceClass_IN.
DNSServiceErrorType DNSSD_API DNSServiceReconfirmRecord(
    DNSServiceFlags flags, uint32_t interfaceIndex, const char *fullname, uint16_t rrtype, uint16_t rrclass, uint16_t rdlen, const void *rdata);

/// Joins the parts of a name to a full name with escapes, in a buffer of kDNSServiceMaxDomainName bytes. The service may be NULL; subtypes are left out.
/// Returns kDNSServiceErr_BadParam without a buffer, a type or a domain. The buffer is then unchanged.
DNSServiceErrorType DNSSD_API DNSServiceConstructFullName(
    char *const fullName, const char *const service, const char *const regtype, const char *const domain);

// Functions that are not supported. They return kDNSServiceErr_Unsupported, and never call back.

/// Reports a mapped port.
typedef void (DNSSD_API *DNSServiceNATPortMappingReply)(
    DNSServiceRef sdRef, DNSServiceFlags flags, uint32_t interfaceIndex, DNSServiceErrorType errorCode, uint32_t externalAddress,
    DNSServiceProtocol protocol, uint16_t internalPort, uint16_t externalPort, uint32_t ttl, void *context);

/// Would map a port of the router. Returns kDNSServiceErr_Unsupported.
DNSServiceErrorType DNSSD_API DNSServiceNATPortMappingCreate(
    DNSServiceRef *sdRef, DNSServiceFlags flags, uint32_t interfaceIndex, DNSServiceProtocol protocol, uint16_t internalPort,
    uint16_t externalPort, uint32_t ttl, DNSServiceNATPortMappingReply callBack, void *context);

/// Reports the result of DNSServiceSleepKeepalive.
typedef void (DNSSD_API *DNSServiceSleepKeepaliveReply)(DNSServiceRef sdRef, DNSServiceErrorType errorCode, void *context);

/// Would let a sleep proxy keep a TCP connection. Returns kDNSServiceErr_Unsupported.
DNSServiceErrorType DNSSD_API DNSServiceSleepKeepalive(
    DNSServiceRef *sdRef, DNSServiceFlags flags, int fd, unsigned int timeout, DNSServiceSleepKeepaliveReply callBack, void *context);

// TXT records

/// A TXT record that is being written. Its contents are private; it may lie on the stack.
typedef union _TXTRecordRef_t {
    char PrivateData[16];
    char *ForceNaturalAlignment;
} TXTRecordRef;

/// Creates an empty record. The buffer, which may be NULL, is used as long as it is large enough; the record then allocates one of its own.
void DNSSD_API TXTRecordCreate(TXTRecordRef *txtRecord, uint16_t bufferLen, void *buffer);

/// Releases what the record has allocated, and makes it empty.
void DNSSD_API TXTRecordDeallocate(TXTRecordRef *txtRecord);

/// Adds a key with a value, in place of a value that it has. Without a value (NULL), the key stands alone; a value of no bytes is an empty one.
/// A key has printable ASCII characters except `=`, and its case does not matter (RFC 6763 section 6.4).
///
/// Returns kDNSServiceErr_Invalid for another key, or if key and value together are longer than an item, 255 bytes with the `=`; kDNSServiceErr_NoMemory if the
/// record would be longer than 65535 bytes; kDNSServiceErr_BadParam without a record or a key. The record is then unchanged.
DNSServiceErrorType DNSSD_API TXTRecordSetValue(TXTRecordRef *txtRecord, const char *key, uint8_t valueSize, const void *value);

/// Removes a key. Returns kDNSServiceErr_NoSuchKey if there is none, kDNSServiceErr_BadParam without a record or a key.
DNSServiceErrorType DNSSD_API TXTRecordRemoveValue(TXTRecordRef *txtRecord, const char *key);

/// The length of the record in bytes.
uint16_t DNSSD_API TXTRecordGetLength(const TXTRecordRef *txtRecord);

/// The bytes of the record, until it is changed or deallocated.
const void *DNSSD_API TXTRecordGetBytesPtr(const TXTRecordRef *txtRecord);

// Reading. An item that does not fit into the record ends it.

/// Whether a record has a key: 1 or 0.
int DNSSD_API TXTRecordContainsKey(uint16_t txtLen, const void *txtRecord, const char *key);

/// The value of a key in the record, and its length. NULL if there is no such key, or it stands alone; an empty value is not NULL.
const void *DNSSD_API TXTRecordGetValuePtr(uint16_t txtLen, const void *txtRecord, const char *key, uint8_t *valueLen);

/// The number of items in a record.
uint16_t DNSSD_API TXTRecordGetCount(uint16_t txtLen, const void *txtRecord);

/// Writes the key of an item to a buffer, with a NUL, and returns its value in the record, NULL for a key alone.
///
/// Returns kDNSServiceErr_Invalid if the record has no such item; kDNSServiceErr_NoMemory if the buffer is too small; kDNSServiceErr_BadParam
/// without a record, a buffer or a place for the value.
DNSServiceErrorType DNSSD_API TXTRecordGetItemAtIndex(
    uint16_t txtLen, const void *txtRecord, uint16_t itemIndex, uint16_t keyBufLen, char *key, uint8_t *valueLen, const void **value);

#ifdef __cplusplus
}
#endif

#endif
