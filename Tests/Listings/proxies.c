// Proxies from the dynamic store (chapter 2), on a stand-in for SystemConfiguration. The proxy is squid.
// run: nginx squid env http_proxy=http://127.0.0.1:$PEER_PORT no_proxy= $PROGRAM $PEER_URL/hello
// prints: hello\ncache: [A-Z]+ from localhost\nhello\ncache: [A-Z]+ from localhost\nchanges 1
#include "Listings.h"
#include <SystemConfiguration/SystemConfiguration.h>

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

int main(int argc, char **argv) {
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
    changeProxies();
    CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, TRUE);
    readStream = streamFor(argv[1]);
#include "listing 2-16"
    load(readStream);
    printf("changes %d\n", changes);
#include "listing 2-17"
    return 0;
}
