// Registers a service and browses for its type with dns_sd.h, until the end of its input.
//
//   dns-sd-twin NAME TYPE PORT [FLAGS]     prints the registered name or the error, and each service that comes (+) or goes (-)
//
// The same name with the same port would be no conflict, because all records are the same (RFC 6762 section 9).

#include <arpa/inet.h>
#include <dns_sd.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

static void registered(
    DNSServiceRef reference, DNSServiceFlags flags, DNSServiceErrorType error, const char *name, const char *type, const char *domain, void *context) {
    (void)reference, (void)flags, (void)type, (void)domain, (void)context;
    if (error == kDNSServiceErr_NoError) printf("registered %s\n", name);
    else printf("refused %d\n", (int)error);
}

static void found(
    DNSServiceRef reference, DNSServiceFlags flags, uint32_t index, DNSServiceErrorType error, const char *name, const char *type, const char *domain,
    void *context) {
    (void)reference, (void)index, (void)type, (void)domain, (void)context;
    if (error == kDNSServiceErr_NoError) printf("%c %s\n", flags & kDNSServiceFlagsAdd ? '+' : '-', name);
    else printf("browse: error %d\n", (int)error);
}

int main(int count, char **words) {
    setvbuf(stdout, NULL, _IONBF, 0);
    if (count < 4) return 64;
    DNSServiceFlags flags = count > 4 ? (DNSServiceFlags)strtoul(words[4], NULL, 0) : 0;
    DNSServiceRef references[2];
    uint16_t port = htons((uint16_t)atoi(words[3]));
    DNSServiceErrorType error = DNSServiceRegister(&references[0], flags, 0, words[1], words[2], NULL, NULL, port, 0, NULL, registered, NULL);
    if (error == kDNSServiceErr_NoError) error = DNSServiceBrowse(&references[1], 0, 0, words[2], NULL, found, NULL);
    if (error != kDNSServiceErr_NoError) {
        printf("error %d\n", (int)error);
        return 1;
    }
    struct pollfd entries[3] = {
        {DNSServiceRefSockFD(references[0]), POLLIN, 0}, {DNSServiceRefSockFD(references[1]), POLLIN, 0}, {0, POLLIN, 0}};
    while (poll(entries, 3, -1) > 0 && !entries[2].revents)
        for (int index = 0; index < 2; index++)
            if (entries[index].revents && DNSServiceProcessResult(references[index]) != kDNSServiceErr_NoError) return 1;
    for (int index = 0; index < 2; index++) DNSServiceRefDeallocate(references[index]);
    return 0;
}
