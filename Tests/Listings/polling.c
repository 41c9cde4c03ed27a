// Polling (chapter 2): a pair of socket streams to an echo server.
// run: echo $PEER_PORT
// prints: (Hello, world){3}\nwritten 36, read 36
#include "Listings.h"

static int rounds;
static Boolean enough;

// Listing 2-10 leaves it to its reader to end the loop: `done` becomes true after three writes.
static CFIndex countedWrite(CFWriteStreamRef stream, const UInt8 *bytes, CFIndex count) {
    CFIndex written = CFWriteStreamWrite(stream, bytes, count);
    if (written == count) done = ++rounds == 3;
    return written;
}

// Listing 2-9 ends at the end of the stream; the echo server keeps its connection open.
static void countedBytes(const UInt8 *bytes, CFIndex count) {
    handleBytes(bytes, count);
    done = handledBytes == 36;
}

int main(int argc, char **argv) {
    CFReadStreamRef myReadStream = NULL;
    CFWriteStreamRef myWriteStream = NULL;
    CFStreamCreatePairWithSocketToHost(NULL, CFSTR("127.0.0.1"), (UInt32)atoi(argv[1]), &myReadStream, &myWriteStream);
    CFReadStreamOpen(myReadStream);
    CFWriteStreamOpen(myWriteStream);
    {
#define CFWriteStreamWrite countedWrite
#include "listing 2-10"
#undef CFWriteStreamWrite
    }
    done = FALSE;
    {
#define handleBytes countedBytes
#include "listing 2-9"
#undef handleBytes
    }
    printf("\nwritten %d, read %ld\n", rounds * 12, handledBytes);
    CFReadStreamClose(myReadStream);
    CFWriteStreamClose(myWriteStream);
    CFRelease(myReadStream);
    CFRelease(myWriteStream);
    return 0;
}
