// A request over a read stream, its response, and redirects (chapter 3). The peer stands in for www.apple.com.
// run: nginx $PEER_URL/chain
// prints: HTTP/1.1 301 .*\nstatus 301\nHTTP/1.1 200 OK\nhello
#include "Listings.h"

static const char *peer;

// The address in listing 3-4 is that of the peer.
static inline CFStringRef constant(const char *bytes) { return text(strcmp(bytes, "http://www.apple.com") ? bytes : peer); }
#undef CFSTR
#define CFSTR(bytes) constant(bytes)

static void readAll(CFReadStreamRef stream, Boolean shows) {
    UInt8 bytes[BUFSIZE];
    for (CFIndex count; (count = CFReadStreamRead(stream, bytes, sizeof bytes)) != 0;) {
        if (count < 0) reportError(CFReadStreamGetError(stream));
        if (count < 0) return;
        if (shows) handleBytes(bytes, count);
    }
}

int main(int argc, char **argv) {
    peer = argv[1];
    CFDataRef bodyData = CFDataCreate(NULL, NULL, 0);
    CFStringRef headerField = CFSTR("X-My-Favorite-Field"), value = CFSTR("Dreams");
#include "listing 3-4"
    readAll(myReadStream, FALSE);
    {
#include "listing 3-4 snippet 1"
#include "listing 3-4 snippet 2"
        puts(cString(myStatusLine));
#include "listing 3-4 snippet 3"
        printf("status %u\n", (unsigned)myErrCode);
    }
    {
        // The listing closes the stream above, and declares another of the same name.
#include "listing 3-5"
        UInt8 first;
        CFIndex count = CFReadStreamRead(myReadStream, &first, 1);
        CFHTTPMessageRef response = (CFHTTPMessageRef)CFReadStreamCopyProperty(myReadStream, kCFStreamPropertyHTTPResponseHeader);
        puts(cString(CFHTTPMessageCopyResponseStatusLine(response)));
        if (count > 0) handleBytes(&first, count);
        readAll(myReadStream, TRUE);
    }
    return 0;
}
