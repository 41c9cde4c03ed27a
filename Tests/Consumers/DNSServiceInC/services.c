// Registers a service, and browses for it, resolves it, and queries its records and addresses with dns_sd.h.
//
//   cc services.c $(pkg-config --cflags --libs libdns_sd) -o services && ./services [INTERFACE]
//
// INTERFACE is the index of an interface, 0 for all. Without it, nothing leaves this machine. Source for C11 and later and for C++.

#include <arpa/inet.h>
#include <dns_sd.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *type = "_netkit-c._tcp";
static char name[kDNSServiceMaxServiceName], fullName[kDNSServiceMaxDomainName], host[kDNSServiceMaxDomainName];
/// Set by the reply that the program waits for.
static int isDone;

static void verify(DNSServiceErrorType error, const char *what) {
    if (error == kDNSServiceErr_NoError) return;
    printf("%s: error %d\n", what, (int)error);
    exit(1);
}

/// Processes replies until one is the awaited one.
static void await(DNSServiceRef reference) {
    isDone = 0;
    while (!isDone) {
        struct pollfd entry = {DNSServiceRefSockFD(reference), POLLIN, 0};
        if (poll(&entry, 1, 20000) != 1) {
            printf("no reply within 20 s\n");
            exit(1);
        }
        verify(DNSServiceProcessResult(reference), "ProcessResult");
    }
}

static void registered(
    DNSServiceRef reference, DNSServiceFlags flags, DNSServiceErrorType error, const char *serviceName, const char *regtype, const char *domain,
    void *context) {
    (void)reference, (void)context;
    verify(error, "registered");
    snprintf(name, sizeof name, "%s", serviceName);
    printf("registered %s %s%s\n", flags & kDNSServiceFlagsAdd ? "as" : "not as", regtype, domain);
    isDone = 1;
}

static void found(
    DNSServiceRef reference, DNSServiceFlags flags, uint32_t interfaceIndex, DNSServiceErrorType error, const char *serviceName,
    const char *regtype, const char *domain, void *context) {
    (void)reference, (void)interfaceIndex, (void)context;
    verify(error, "found");
    if (strcmp(name, serviceName) != 0 || !(flags & kDNSServiceFlagsAdd) || isDone) return;
    printf("found %s%s\n", regtype, domain);
    isDone = 1;
}

static void resolved(
    DNSServiceRef reference, DNSServiceFlags flags, uint32_t interfaceIndex, DNSServiceErrorType error, const char *full, const char *target,
    uint16_t port, uint16_t length, const unsigned char *record, void *context) {
    (void)reference, (void)flags, (void)interfaceIndex, (void)context;
    verify(error, "resolved");
    uint8_t size = 0;
    const void *value = TXTRecordGetValuePtr(length, record, "path", &size);
    snprintf(fullName, sizeof fullName, "%s", full);
    snprintf(host, sizeof host, "%s", target);
    if (!isDone) printf("resolved port %d path %.*s\n", ntohs(port), (int)size, (const char *)value);
    isDone = 1;
}

static void queried(
    DNSServiceRef reference, DNSServiceFlags flags, uint32_t interfaceIndex, DNSServiceErrorType error, const char *full, uint16_t rrtype,
    uint16_t rrclass, uint16_t length, const void *data, uint32_t ttl, void *context) {
    (void)reference, (void)flags, (void)interfaceIndex, (void)full, (void)rrclass, (void)data, (void)context;
    verify(error, "queried");
    if (!isDone) printf("queried type %d: %d bytes for %u s\n", rrtype, length, (unsigned)ttl);
    isDone = 1;
}

static void addressed(
    DNSServiceRef reference, DNSServiceFlags flags, uint32_t interfaceIndex, DNSServiceErrorType error, const char *hostName,
    const struct sockaddr *address, uint32_t ttl, void *context) {
    (void)reference, (void)flags, (void)interfaceIndex, (void)hostName, (void)ttl, (void)context;
    verify(error, "addressed");
    char text[INET_ADDRSTRLEN];
    const void *bytes = &((const struct sockaddr_in *)(const void *)address)->sin_addr;
    if (!isDone) printf("address %s\n", inet_ntop(AF_INET, bytes, text, sizeof text));
    isDone = 1;
}

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IONBF, 0);
    uint32_t index = argc > 1 ? (uint32_t)atoi(argv[1]) : kDNSServiceInterfaceIndexLocalOnly;
    TXTRecordRef record;
    TXTRecordCreate(&record, 0, NULL);
    verify(TXTRecordSetValue(&record, "path", 2, "/c"), "TXTRecordSetValue");
    DNSServiceRef service, browser, resolver, query, addresses;
    verify(
        DNSServiceRegister(
            &service, 0, index, "C consumer", type, NULL, NULL, htons(4711), TXTRecordGetLength(&record), TXTRecordGetBytesPtr(&record), registered,
            NULL),
        "DNSServiceRegister");
    TXTRecordDeallocate(&record);
    await(service);

    verify(DNSServiceBrowse(&browser, 0, index, type, "local", found, NULL), "DNSServiceBrowse");
    await(browser);
    DNSServiceRefDeallocate(browser);
    verify(DNSServiceResolve(&resolver, 0, index, name, type, "local.", resolved, NULL), "DNSServiceResolve");
    await(resolver);
    DNSServiceRefDeallocate(resolver);
    verify(DNSServiceQueryRecord(&query, 0, index, fullName, kDNSServiceType_SRV, kDNSServiceClass_IN, queried, NULL), "DNSServiceQueryRecord");
    await(query);
    DNSServiceRefDeallocate(query);
    verify(DNSServiceGetAddrInfo(&addresses, 0, index, kDNSServiceProtocol_IPv4, host, addressed, NULL), "DNSServiceGetAddrInfo");
    await(addresses);
    DNSServiceRefDeallocate(addresses);

    DNSServiceRefDeallocate(service);
    return 0;
}
