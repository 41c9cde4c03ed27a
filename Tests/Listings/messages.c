// Messages (chapter 3): a request in bytes, and a message that arrives a byte at a time.
// run:
// prints: GET / HTTP/1.1\r?\n(.*\r?\n)*X-My-Favorite-Field: Dreams\r?\n(.*\r?\n)*\r?\nreceived POST of 5 bytes
#include "Listings.h"

static const char received[] = "POST /form HTTP/1.1\r\nHost: example.com\r\nContent-Length: 5\r\n\r\nhello";

static CFHTTPMessageRef receive(void) {
    CFIndex numBytes = 1;
    UInt8 data = (UInt8)received[0];
#include "listing 3-3"
    for (size_t next = 1; next < sizeof received - 1; next++) {
        data = (UInt8)received[next];
        CFHTTPMessageAppendBytes(myMessage, &data, numBytes);
    }
#include "listing 3-3 snippet 1"
    return myMessage;
}

int main(int argc, char **argv) {
#include "listing 3-1"
    fwrite(CFDataGetBytePtr(mySerializedRequest), 1, (size_t)CFDataGetLength(mySerializedRequest), stdout);
#include "listing 3-2"
    CFHTTPMessageRef message = receive();
    CFDataRef body = CFHTTPMessageCopyBody(message);
    CFStringRef method = CFHTTPMessageCopyRequestMethod(message);
    printf("received %s of %ld bytes\n", cString(method), (long)CFDataGetLength(body));
    return 0;
}
