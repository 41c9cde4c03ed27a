// Publishes, queries and reconfirms records with dns_sd.h.
//
//   dns-sd-records publish            registers a service with a further record, and an address of thing.local, until the end of its input
//   dns-sd-records query              prints these records
//   dns-sd-records reconfirm NAME     finds NAME.service.protocol.local., and after a line of input reports that it does not answer

#include <arpa/inet.h>
#include <dns_sd.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *type = "_records._tcp", *domain = "local.", *awaited;
static int replies;

static void verify(DNSServiceErrorType error, const char *what) {
    if (error == kDNSServiceErr_NoError) return;
    printf("%s: error %d\n", what, (int)error);
    exit(1);
}

/// Processes replies until there were as many of the awaited ones.
static void await(DNSServiceRef reference, int count) {
    for (replies = 0; replies < count;) {
        struct pollfd entry = {DNSServiceRefSockFD(reference), POLLIN, 0};
        if (poll(&entry, 1, 30000) != 1) verify(kDNSServiceErr_Timeout, "no reply");
        verify(DNSServiceProcessResult(reference), "ProcessResult");
    }
}

static void recordRegistered(DNSServiceRef reference, DNSRecordRef record, DNSServiceFlags flags, DNSServiceErrorType error, void *context) {
    (void)reference, (void)record, (void)flags, (void)context;
    verify(error, "a record");
    replies++;
}

static void serviceRegistered(
    DNSServiceRef reference, DNSServiceFlags flags, DNSServiceErrorType error, const char *name, const char *regtype, const char *in, void *context) {
    (void)reference, (void)flags, (void)name, (void)regtype, (void)in, (void)context;
    verify(error, "a service");
    replies++;
}

static int publish(void) {
    DNSServiceRef connection, service;
    DNSRecordRef address, further, removed;
    verify(DNSServiceCreateConnection(&connection), "CreateConnection");
    struct in_addr bytes;
    inet_pton(AF_INET, "192.0.2.77", &bytes);
    DNSServiceErrorType error = DNSServiceRegisterRecord(
        connection, &address, kDNSServiceFlagsUnique, 0, "thing.local", kDNSServiceType_A, kDNSServiceClass_IN, sizeof bytes, &bytes, 60,
        recordRegistered, NULL);
    verify(error, "RegisterRecord");
    // The service shares the connection.
    service = connection;
    error = DNSServiceRegister(
        &service, kDNSServiceFlagsShareConnection, 0, "Records", type, NULL, NULL, htons(9), 8, "\007path=/c", serviceRegistered, NULL);
    verify(error, "Register");
    verify(DNSServiceAddRecord(service, &further, 0, kDNSServiceType_NULL, 3, "old", 0), "AddRecord");
    verify(DNSServiceUpdateRecord(service, further, 0, 3, "new", 30), "UpdateRecord");
    verify(DNSServiceAddRecord(service, &removed, 0, kDNSServiceType_NULL, 4, "gone", 0), "AddRecord");
    verify(DNSServiceRemoveRecord(service, removed, 0), "RemoveRecord");
    await(connection, 2);
    printf("ready\n");
    while (getchar() != EOF) continue;
    DNSServiceRefDeallocate(connection);
    return 0;
}

static void queried(
    DNSServiceRef reference, DNSServiceFlags flags, uint32_t interfaceIndex, DNSServiceErrorType error, const char *name, uint16_t rrtype,
    uint16_t rrclass, uint16_t length, const void *data, uint32_t ttl, void *context) {
    (void)reference, (void)flags, (void)interfaceIndex, (void)rrclass, (void)context;
    verify(error, "queried");
    printf("%s %d %u ", name, rrtype, (unsigned)ttl);
    for (int index = 0; index < length; index++) printf("%02x", ((const uint8_t *)data)[index]);
    printf("\n");
    replies++;
}

static int query(void) {
    char name[kDNSServiceMaxDomainName];
    DNSServiceRef address, further;
    verify(DNSServiceConstructFullName(name, "Records", type, domain), "ConstructFullName");
    verify(DNSServiceQueryRecord(&address, 0, 0, "thing.local.", kDNSServiceType_A, kDNSServiceClass_IN, queried, NULL), "QueryRecord");
    await(address, 1);
    verify(DNSServiceQueryRecord(&further, 0, 0, name, kDNSServiceType_NULL, kDNSServiceClass_IN, queried, NULL), "QueryRecord");
    await(further, 1);
    DNSServiceRefDeallocate(address);
    DNSServiceRefDeallocate(further);
    return 0;
}

static void found(
    DNSServiceRef reference, DNSServiceFlags flags, uint32_t interfaceIndex, DNSServiceErrorType error, const char *name, const char *regtype,
    const char *in, void *context) {
    (void)reference, (void)interfaceIndex, (void)regtype, (void)in, (void)context;
    verify(error, "browsed");
    if (strcmp(name, awaited) != 0) return;
    printf("%s\n", flags & kDNSServiceFlagsAdd ? "found" : "gone");
    replies++;
}

static int reconfirm(const char *name) {
    DNSServiceRef browser;
    char fullName[kDNSServiceMaxDomainName], list[kDNSServiceMaxDomainName];
    awaited = name;
    verify(DNSServiceBrowse(&browser, 0, 0, type, domain, found, NULL), "Browse");
    await(browser, 1);
    while (getchar() != '\n') continue;
    verify(DNSServiceConstructFullName(fullName, name, type, domain), "ConstructFullName");
    verify(DNSServiceConstructFullName(list, NULL, type, domain), "ConstructFullName");
    // The labels of a name without escapes, each after its length; the last one is empty.
    uint8_t data[256];
    uint16_t length = 0;
    for (const char *label = fullName; *label != 0; label += strcspn(label, ".") + 1) {
        size_t size = strcspn(label, ".");
        data[length] = (uint8_t)size;
        memcpy(data + length + 1, label, size);
        length = (uint16_t)(length + 1 + size);
    }
    data[length++] = 0;
    verify(DNSServiceReconfirmRecord(0, 0, list, kDNSServiceType_PTR, kDNSServiceClass_IN, length, data), "ReconfirmRecord");
    await(browser, 1);
    DNSServiceRefDeallocate(browser);
    return 0;
}

int main(int count, char **words) {
    setvbuf(stdout, NULL, _IONBF, 0);
    if (count == 2 && strcmp(words[1], "publish") == 0) return publish();
    if (count == 2 && strcmp(words[1], "query") == 0) return query();
    if (count == 3 && strcmp(words[1], "reconfirm") == 0) return reconfirm(words[2]);
    return 64;
}
