// Events on a run loop (chapter 2): a load, a refused connection, and a socket stream to a host.
// run: nginx $PEER_URL/hello
// prints: hello\ncomplete, 6 bytes\nretained ([1-9]), released \1\nerror 111 of domain 1
// run: vsftpd host $PEER_PORT
// prints: 220 .*
#include "Listings.h"

static int retained, released;

static void *myRetain(void *info) {
    retained++;
    return info;
}
static void myRelease(void *info) { released++; }
static CFStringRef myCopyDesc(void *info) { return CFStringCreateCopy(NULL, CFSTR("my pointer")); }

// Without an end of the stream, the first bytes end the run loop.
static Boolean endsWithBytes;
static void handleSome(const UInt8 *bytes, CFIndex count) {
    handleBytes(bytes, count);
    if (endsWithBytes) CFRunLoopStop(CFRunLoopGetCurrent());
}

#define handleBytes handleSome
#include "listing 2-8"
#undef handleBytes

static void load(CFReadStreamRef myReadStream) {
    int pointed = 0;
    int *myPtr = &pointed;
#include "listing 2-5 snippet 2"
#include "listing 2-6"
#include "listing 2-7"
    // As printed, 2-7 starts the run loop only where opening failed.
    run();
}

static void loadURL(const char *string) {
    CFURLRef url = address(string);
    CFHTTPMessageRef request = CFHTTPMessageCreateRequest(NULL, CFSTR("GET"), url, kCFHTTPVersion1_1);
    load(CFReadStreamCreateForHTTPRequest(NULL, request));
    CFRelease(request);
    CFRelease(url);
}

int main(int argc, char **argv) {
    if (argc == 2) {
        loadURL(argv[1]);
        printf("retained %d, released %d\n", retained, released);
        loadURL("http://127.0.0.1:1/");
        return 0;
    }
    CFHostRef host = CFHostCreateWithName(NULL, CFSTR("localhost"));
    SInt32 port = atoi(argv[2]);
    CFReadStreamRef myReadStream = NULL;
#include "listing 2-5 snippet 1"
    endsWithBytes = TRUE;
    load(myReadStream);
    return 0;
}
