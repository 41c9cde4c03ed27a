// Proxies from the dynamic store (chapter 2). The proxy is squid, which the user's settings name.
// run: nginx squid env XDG_CONFIG_HOME=$SCRATCH $PROGRAM $PEER_URL/hello $PEER_PORT
// prints: hello\ncache: [A-Z]+ from localhost\nhello\ncache: [A-Z]+ from localhost\nchanges 1
#ifndef _GNU_SOURCE
#define _GNU_SOURCE // unsetenv
#endif
#include "Listings.h"
#include <SystemConfiguration/SystemConfiguration.h>
#include <sys/stat.h>

static SCDynamicStoreRef systemDynamicStore;
static CFDictionaryRef gProxyDict;
static void *self;
static int changes;

// Counts calls of the callback by its use of the store.
static CFDictionaryRef copyProxies(SCDynamicStoreRef store) {
    changes++;
    return SCDynamicStoreCopyProxies(store);
}
#define SCDynamicStoreCopyProxies copyProxies
#include "listing 2-15"
#undef SCDynamicStoreCopyProxies

static CFReadStreamRef streamFor(const char *string) {
    CFURLRef url = address(string);
    CFHTTPMessageRef request = CFHTTPMessageCreateRequest(NULL, CFSTR("GET"), url, kCFHTTPVersion1_1);
    CFReadStreamRef stream = CFReadStreamCreateForHTTPRequest(NULL, request);
    CFRelease(request);
    CFRelease(url);
    return stream;
}

static void load(CFReadStreamRef stream) {
    UInt8 bytes[BUFSIZE];
    CFReadStreamOpen(stream);
    for (CFIndex count; (count = CFReadStreamRead(stream, bytes, sizeof bytes)) > 0;) handleBytes(bytes, count);
    CFHTTPMessageRef response = (CFHTTPMessageRef)CFReadStreamCopyProperty(stream, kCFStreamPropertyHTTPResponseHeader);
    printf("cache: %s\n", cString(CFHTTPMessageCopyHeaderFieldValue(response, CFSTR("X-Cache"))));
    CFReadStreamClose(stream);
    CFRelease(response);
    CFRelease(stream);
}

/// Replaces the user's settings.
static void changeProxies(const char *port, const char *scheme) {
    const char *folder = getenv("XDG_CONFIG_HOME");
    char path[1024], draft[1024];
    snprintf(path, sizeof path, "%s/netkit", folder);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/netkit/proxies", folder);
    snprintf(draft, sizeof draft, "%s/netkit/draft", folder);
    FILE *file = fopen(draft, "w");
    fprintf(file, "http_proxy = http://127.0.0.1:%s\n", port);
    if (scheme) fprintf(file, "%s_proxy = http://127.0.0.1:%s\n", scheme, port);
    fclose(file);
    rename(draft, path);
}

int main(int argc, char **argv) {
    // The variables of the environment come before the settings of the user.
    const char *variables[] = {"http_proxy", "https_proxy", "HTTPS_PROXY", "ftp_proxy", "FTP_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) unsetenv(variables[i]);
    changeProxies(argv[2], NULL);
    CFReadStreamRef readStream = streamFor(argv[1]);
    {
#include "listing 2-11"
        CFRelease(proxyDict);
    }
    load(readStream);

    {
#include "listing 2-12"
#include "listing 2-13"
#include "listing 2-14"
    }
    changeProxies(argv[2], "https");
    CFRunLoopRunInMode(kCFRunLoopDefaultMode, 20, TRUE);
    readStream = streamFor(argv[1]);
#include "listing 2-16"
    load(readStream);
    printf("changes %d\n", changes);
#include "listing 2-17"
    return 0;
}
