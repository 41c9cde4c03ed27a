// A thousand operations of dns_sd.h on eight threads, with what the process has open before, during and after them.
//
//   cc -pthread dns-sd.c $(pkg-config --cflags --libs libdns_sd) -o dns-sd && ./dns-sd [any]
//
// The operations are on this machine only or, with `any`, on all interfaces.

#include <dirent.h>
#include <dns_sd.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { threads = 8, operations = 125, rounds = 100 };

static uint32_t interfaceIndex = kDNSServiceInterfaceIndexLocalOnly;
static pthread_barrier_t barrier;
static int during[2];

/// The number of sockets, or of other descriptors. A thread of libdispatch opens files in /proc every second while others work.
static int count(int ofSockets) {
    int result = 0;
    DIR *folder = opendir("/proc/self/fd");
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char path[300], target[300];
        snprintf(path, sizeof path, "/proc/self/fd/%s", entry->d_name);
        ssize_t length = readlink(path, target, sizeof target - 1);
        if (length < 0 || entry->d_name[0] == '.') continue;
        target[length] = 0;
        if (strncmp(target, "/proc/", 6) == 0) continue;
        result += (strncmp(target, "socket:", 7) == 0) == ofSockets;
    }
    closedir(folder);
    return result;
}

static void found(
    DNSServiceRef reference, DNSServiceFlags flags, uint32_t index, DNSServiceErrorType error, const char *name, const char *type,
    const char *domain, void *context) {
    (void)flags, (void)index, (void)name, (void)type, (void)domain;
    if (error != kDNSServiceErr_NoError) exit(2);
    // The last reply of the reference.
    DNSServiceRefDeallocate(reference);
    *(DNSServiceRef *)context = NULL;
}

static DNSServiceRef browse(void *context) {
    DNSServiceRef browser;
    if (DNSServiceBrowse(&browser, 0, interfaceIndex, "_rounds._tcp", NULL, found, context) != 0) exit(3);
    return browser;
}

static void *run(void *number) {
    DNSServiceRef browsers[operations];
    for (int index = 0; index < operations; index++) browsers[index] = browse(&browsers[index]);
    pthread_barrier_wait(&barrier);
    if (number == NULL) {
        during[0] = count(0);
        during[1] = count(1);
    }
    pthread_barrier_wait(&barrier);
    for (int index = 0; index < operations; index++) {
        while (browsers[index] != NULL && DNSServiceProcessResult(browsers[index]) == 0) continue;
    }
    // Begun and ended at once.
    for (int round = 0; round < rounds; round++) DNSServiceRefDeallocate(browse(NULL));
    return NULL;
}

static void registered(
    DNSServiceRef reference, DNSServiceFlags flags, DNSServiceErrorType error, const char *name, const char *type, const char *domain, void *context) {
    (void)reference, (void)flags, (void)name, (void)type, (void)domain, (void)context;
    if (error != kDNSServiceErr_NoError) exit(4);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "any") == 0) interfaceIndex = kDNSServiceInterfaceIndexAny;
    DNSServiceRef service;
    if (DNSServiceRegister(&service, 0, interfaceIndex, "Rounds", "_rounds._tcp", NULL, NULL, 1, 0, NULL, registered, NULL) != 0) return 5;
    if (DNSServiceProcessResult(service) != 0) return 6;
    int before[] = {count(0), count(1)};
    pthread_barrier_init(&barrier, NULL, threads);
    pthread_t others[threads];
    for (size_t index = 0; index < threads; index++) pthread_create(&others[index], NULL, run, (void *)index);
    for (size_t index = 0; index < threads; index++) pthread_join(others[index], NULL);
    int after[] = {count(0), count(1)};
    printf(
        "%d operations: %d more sockets, %d more descriptors; after them %d and %d\n", threads * operations, during[1] - before[1],
        during[0] - before[0], after[1] - before[1], after[0] - before[0]);
    DNSServiceRefDeallocate(service);
    return 0;
}
