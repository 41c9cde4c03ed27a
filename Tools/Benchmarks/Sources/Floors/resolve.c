// getaddrinfo, one call after another or on several threads. With names=, the calls cycle through that many names below the
// host, as in NetKit's row, which needs different names because NetKit merges equal lookups in progress.

#include <netdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>

#include "floors.h"
#include "measure.h"

static const char *host;
static long long names;
static int flags;
static atomic_llong left;

static void *resolve_until_done(void *unused) {
    (void)unused;
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM, .ai_flags = flags};
    char name[256];
    snprintf(name, sizeof name, "%s", host);
    for (long long call; (call = atomic_fetch_sub(&left, 1)) > 0;) {
        struct addrinfo *found;
        if (names) snprintf(name, sizeof name, "n%lld.%s", call % names, host);
        if (getaddrinfo(name, "80", &hints, &found) != 0) measure_fail("getaddrinfo");
        freeaddrinfo(found);
    }
    return NULL;
}

void resolve_row(void) {
    enum { most_threads = 64 };
    pthread_t others[most_threads];
    long long count = measure_number("count");
    int threads = (int)measure_number("threads");
    host = measure_text("host");
    names = measure_number("names");
    flags = measure_number("configured") ? AI_ADDRCONFIG : 0;
    left = count;
    if (threads < 1 || threads > most_threads) measure_fail("threads=");
    measure_begin();
    for (int i = 1; i < threads; i++) {
        if (pthread_create(&others[i], NULL, resolve_until_done, NULL) != 0) measure_fail("pthread_create");
    }
    resolve_until_done(NULL);
    for (int i = 1; i < threads; i++) pthread_join(others[i], NULL);
    measure_end((double)count, 0);
}
