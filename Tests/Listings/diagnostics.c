// Diagnostics after an error of a stream (chapter 6): nothing listens on port 1.
// run: http://127.0.0.1:1/
// prints: error 111 of domain 1
#include "Listings.h"

static void myCallBack(CFReadStreamRef stream, CFStreamEventType event, void *info) {
    switch (event) {
#include "listing 6-1"
    default:
        break;
    }
}

int main(int argc, char **argv) {
    CFURLRef url = address(argv[1]);
    CFHTTPMessageRef request = CFHTTPMessageCreateRequest(NULL, CFSTR("GET"), url, kCFHTTPVersion1_1);
    CFReadStreamRef stream = CFReadStreamCreateForHTTPRequest(NULL, request);
    CFStreamClientContext context = {0, NULL, NULL, NULL, NULL};
    CFReadStreamSetClient(stream, kCFStreamEventErrorOccurred, myCallBack, &context);
    CFReadStreamScheduleWithRunLoop(stream, CFRunLoopGetCurrent(), kCFRunLoopCommonModes);
    CFReadStreamOpen(stream);
    run();
    return 0;
}
