#include "CFNetworkPrograms.h"
#include "Check.h"
#include "Peer.h"
#include <CFNetwork/CFNetwork.h>
#include <sys/socket.h>

static void hold(struct Peer *peer, int connection) {
    char byte;
    recv(connection, &byte, 1, 0); // until the client closes
}

// Parity: ND-002, ND-003, ND-004, ND-007, ND-008, ND-016
const char *CFNetworkDiagnosticsProgram(void) {
    struct Peer peer;
    CHECK(kCFNetDiagnosticNoErr == 0 && kCFNetDiagnosticErr == -66560 && kCFNetDiagnosticConnectionUp == -66559);
    CHECK(kCFNetDiagnosticConnectionIndeterminate == -66558 && kCFNetDiagnosticConnectionDown == -66557);
    CHECK(PeerStart(&peer, hold) == 0);
    CFURLRef url = CFURLCreateWithString(NULL, CFSTR("http://127.0.0.1/"), NULL);
    CFNetDiagnosticRef diagnostic = CFNetDiagnosticCreateWithURL(kCFAllocatorDefault, url);
    CFRelease(url);
    CHECK(diagnostic != NULL);
    CFNetDiagnosticSetName(diagnostic, CFSTR("first"));
    CFNetDiagnosticSetName(diagnostic, CFSTR("second"));
    CFStringRef text = NULL;
    CFNetDiagnosticStatus status = CFNetDiagnosticCopyNetworkStatusPassively(diagnostic, &text);
    CHECK(status <= kCFNetDiagnosticConnectionDown && status >= kCFNetDiagnosticConnectionUp && text != NULL && CFStringGetLength(text) > 0);
    CFRelease(text);
    CHECK(CFNetDiagnosticCopyNetworkStatusPassively(diagnostic, NULL) == status);
    CFStringRef description = CFCopyDescription(diagnostic);
    CHECK(CFStringHasPrefix(description, CFSTR("<CFNetDiagnostic 0x")));
    CFRelease(description);
    CHECK(CFNetDiagnosticDiagnoseProblemInteractively(diagnostic) == kCFNetDiagnosticNoErr);
    CFRelease(diagnostic);
    url = CFURLCreateWithString(NULL, CFSTR("mailto:joe"), NULL);
    CHECK(CFNetDiagnosticCreateWithURL(kCFAllocatorDefault, url) == NULL);
    CFRelease(url);

    // An open stream shows that the network works.
    CFReadStreamRef reader;
    CFStreamCreatePairWithSocketToHost(NULL, CFSTR("127.0.0.1"), peer.port, &reader, NULL);
    CHECK(CFReadStreamOpen(reader));
    while (CFReadStreamGetStatus(reader) == kCFStreamStatusOpening) CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, TRUE);
    diagnostic = CFNetDiagnosticCreateWithStreams(NULL, reader, NULL);
    CHECK(CFNetDiagnosticCopyNetworkStatusPassively(diagnostic, NULL) == kCFNetDiagnosticConnectionUp);
    CFRelease(diagnostic);
    CFReadStreamClose(reader);
    CFRelease(reader);
    diagnostic = CFNetDiagnosticCreateWithStreams(NULL, NULL, NULL);
    CHECK(CFNetDiagnosticCopyNetworkStatusPassively(diagnostic, NULL) != kCFNetDiagnosticErr);
    CFRelease(diagnostic);
    PeerStop(&peer);
    return NULL;
}
