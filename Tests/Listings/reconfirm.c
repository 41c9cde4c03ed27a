// The report that a service does not answer (listing 4-5 of the services guide, whose Objective-C is expressed in C here): the name of
// the service is divided into labels, which are the data of the pointer record that may be stale. The service here answers, and stays.
// transcribes: listing 4-5
// links: libdns_sd
// run: MyLaptop._ftp._tcp.local.
// prints: ^\+ MyLaptop\nreconfirmed\nend$
// run: MyLaptop._ftp._tcp.local
// run: MyLaptop._ftp._sctp.local.
// run: _ftp._tcp.local.
// prints: ^not the name of a service\n\nexit status 1$
// run: A-label-of-sixty-four-bytes-is-longer-than-any-label-of-a-name-is._ftp._tcp.local.
// prints: ^a label is too long\n\nexit status 1$

#include <arpa/inet.h>
#include <dns_sd.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { maximumLabels = 128, maximumDataLength = 255, maximumLabelLength = 63 };

static uint32_t interfaceIndex = kDNSServiceInterfaceIndexLocalOnly;

/// The labels of a name, whose last one is empty; -1 if there are too many.
static int divide(char *name, char **labels) {
    int count = 0;
    for (char *dot; count < maximumLabels; name = dot + 1) {
        labels[count++] = name;
        dot = strchr(name, '.');
        if (dot == NULL) return count;
        *dot = 0;
    }
    return -1;
}

/// Reports that the service of a name does not answer. Returns NULL, or what is wrong.
static const char *reconfirm(const char *serviceName) {
    char copy[kDNSServiceMaxDomainName], fullname[kDNSServiceMaxDomainName], *labels[maximumLabels];
    if (strlen(serviceName) >= sizeof copy) return "the name is too long";
    strcpy(copy, serviceName);
    int count = divide(copy, labels);
    if (count < 5 || labels[count - 1][0] != 0) return "not the name of a service";
    if (strcasecmp(labels[2], "_tcp") != 0 && strcasecmp(labels[2], "_udp") != 0) return "not the name of a service";
    strcpy(fullname, strchr(serviceName, '.') + 1);

    uint8_t recordData[maximumDataLength];
    size_t length = 0;
    for (int index = 0; index < count; index++) {
        size_t size = strlen(labels[index]);
        if (size > maximumLabelLength) return "a label is too long";
        if (length + 1 + size > sizeof recordData) return "the name is too long";
        recordData[length] = (uint8_t)size;
        memcpy(recordData + length + 1, labels[index], size);
        length += 1 + size;
    }
    DNSServiceErrorType err = DNSServiceReconfirmRecord(
        0, interfaceIndex, fullname, kDNSServiceType_PTR, kDNSServiceClass_IN, (uint16_t)length, recordData);
    return err == kDNSServiceErr_NoError ? NULL : "an error of DNSServiceReconfirmRecord";
}

static void found(
    DNSServiceRef reference, DNSServiceFlags flags, uint32_t index, DNSServiceErrorType error, const char *name, const char *type, const char *domain,
    void *context) {
    (void)reference, (void)index, (void)error, (void)type, (void)domain;
    printf("%c %s\n", flags & kDNSServiceFlagsAdd ? '+' : '-', name);
    *(int *)context = 1;
}

int main(int argc, char **argv) {
    DNSServiceRef service, browser;
    int isFound = 0;
    if (argc != 2) return 64;
    setvbuf(stdout, NULL, _IONBF, 0);
    if (strcmp(argv[1], "MyLaptop._ftp._tcp.local.") == 0) {
        if (DNSServiceRegister(&service, 0, interfaceIndex, "MyLaptop", "_ftp._tcp", NULL, NULL, htons(21), 0, NULL, NULL, NULL) != 0) return 2;
        if (DNSServiceBrowse(&browser, 0, interfaceIndex, "_ftp._tcp", NULL, found, &isFound) != 0) return 2;
        while (!isFound)
            if (DNSServiceProcessResult(browser) != kDNSServiceErr_NoError) return 2;
    }
    const char *problem = reconfirm(argv[1]);
    printf("%s\n", problem ? problem : "reconfirmed");
    if (problem) return 1;
    // Twelve seconds: an unconfirmed record goes after ten.
    struct pollfd entry = {DNSServiceRefSockFD(browser), POLLIN, 0};
    while (poll(&entry, 1, 12000) > 0) DNSServiceProcessResult(browser);
    puts("end");
    return 0;
}
