// A POST request over TLS with a client context, from a tutorial. The peer stands in for its server.
// run: apache env SSL_CERT_FILE=$PEER_ROOT $PROGRAM $PEER_TLS_URL/cgi/echo
// prints: Passed In Data:.*test-data-key.*POST /cgi/echo.*test-data-value
#include "Listings.h"

static const char *peer;

// The address in the tutorial is that of the peer. Other constants are printed as they are.
static inline CFStringRef constant(const char *bytes) { return text(strcmp(bytes, "https://httpbin.org/post") ? bytes : peer); }
#undef CFSTR
#define CFSTR(bytes) constant(bytes)

static void ReadStreamCallBack(CFReadStreamRef readStream, CFStreamEventType type, void *clientCallBackInfo);

// The tutorial's callback ends with the load, after it has logged the response.
static void ended(void *memory) {
    free(memory);
    CFRunLoopStop(CFRunLoopGetCurrent());
}

#include "block 9"
#include "block 10"
#include "block 11"
#define free ended
#include "block 12"
#undef free

int main(int argc, char **argv) {
    peer = argv[1];
    PostRequest();
    run();
    return 0;
}
