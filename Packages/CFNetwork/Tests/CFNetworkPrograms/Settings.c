#include "CFNetworkPrograms.h"
#include "Check.h"
#include "Peer.h"
#include <CFNetwork/CFNetwork.h>
#include <Security/Security.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static CFDictionaryRef dictionary(CFIndex count, const void **keys, const void **values) {
    return CFDictionaryCreate(NULL, keys, values, count, &kCFTypeDictionaryKeyCallBacks, &kCFTypeDictionaryValueCallBacks);
}

/// Sets a dictionary of one entry on a new pair; returns what the stream returns.
static Boolean sets(CFStringRef property, CFStringRef key, CFTypeRef value) {
    CFReadStreamRef reader;
    CFWriteStreamRef writer;
    CFStreamCreatePairWithSocketToHost(NULL, CFSTR("127.0.0.1"), 9, &reader, &writer);
    const void *keys[] = {key}, *values[] = {value};
    CFDictionaryRef settings = dictionary(1, keys, values);
    Boolean read = CFReadStreamSetProperty(reader, property, settings), written = CFWriteStreamSetProperty(writer, property, settings);
    CFRelease(settings);
    CFRelease(reader);
    CFRelease(writer);
    return read && written;
}

static const char *connectProxies(void) {
    CFReadStreamRef reader;
    CFWriteStreamRef writer;
    // A proxy for CONNECT: it needs a host and a port, and only version 1.1 and valid fields are honoured.
    CFStreamCreatePairWithSocketToHost(NULL, CFSTR("192.0.2.1"), 9, &reader, &writer);
    SInt32 number = 1;
    CFNumberRef port = CFNumberCreate(NULL, kCFNumberSInt32Type, &number);
    const void *field[] = {CFSTR("X-Mine")}, *text[] = {CFSTR("yes")}, *broken[] = {CFSTR("a\r\nb")};
    CFDictionaryRef fields = dictionary(1, field, text), invalid = dictionary(1, field, broken);
    const void *connectKeys[] = {kCFStreamPropertyCONNECTProxyHost, kCFStreamPropertyCONNECTProxyPort, kCFStreamPropertyCONNECTVersion,
        kCFStreamPropertyCONNECTAdditionalHeaders};
    const void *connectValues[] = {CFSTR("127.0.0.1"), port, kCFHTTPVersion1_1, fields};
    CFDictionaryRef connect = dictionary(4, connectKeys, connectValues);
    CHECK(CFReadStreamSetProperty(reader, kCFStreamPropertyCONNECTProxy, connect));
    CFDictionaryRef back = CFWriteStreamCopyProperty(writer, kCFStreamPropertyCONNECTProxy);
    CHECK(back != NULL && CFEqual(back, connect)); // of both streams
    CFRelease(back);
    connectValues[2] = kCFHTTPVersion1_0;
    CFDictionaryRef old = dictionary(4, connectKeys, connectValues);
    CHECK(!CFReadStreamSetProperty(reader, kCFStreamPropertyCONNECTProxy, old));
    connectValues[2] = kCFHTTPVersion1_1;
    connectValues[3] = invalid;
    CFDictionaryRef injected = dictionary(4, connectKeys, connectValues);
    CHECK(!CFReadStreamSetProperty(reader, kCFStreamPropertyCONNECTProxy, injected));
    CHECK(!sets(kCFStreamPropertyCONNECTProxy, kCFStreamPropertyCONNECTProxyHost, CFSTR("127.0.0.1"))); // without a port
    // Nothing listens at the proxy's port: the stream does not go around it.
    CHECK(CFReadStreamOpen(reader));
    UInt8 byte;
    CHECK(CFReadStreamRead(reader, &byte, 1) == -1);
    CHECK(CFReadStreamGetError(reader).error == 61 || CFReadStreamGetError(reader).error == 111);
    CFReadStreamClose(reader);
    CFRelease(injected);
    CFRelease(old);
    CFRelease(connect);
    CFRelease(invalid);
    CFRelease(fields);
    CFRelease(port);
    CFRelease(reader);
    CFRelease(writer);
    return NULL;
}

// Parity: SK-055, SK-060, SK-091, SK-092, SK-094, SK-096, SK-103, SK-110
const char *CFNetworkSettingsProgram(void) {
    CFReadStreamRef reader;
    CFWriteStreamRef writer;
    CFStreamCreatePairWithSocketToHost(NULL, CFSTR("127.0.0.1"), 9, &reader, &writer);
    CHECK(!CFReadStreamSetProperty(reader, CFSTR("kCFStreamPropertyOfAnotherLibrary"), kCFBooleanTrue));
    CHECK(CFReadStreamCopyProperty(reader, CFSTR("kCFStreamPropertyOfAnotherLibrary")) == NULL);
    CHECK(!CFReadStreamSetProperty(reader, kCFStreamPropertyHTTPShouldAutoredirect, kCFBooleanTrue));
    CHECK(!CFReadStreamSetProperty(reader, kCFStreamPropertySocketRemoteHostName, CFSTR("x")));
    CHECK(CFReadStreamSetProperty(reader, kCFStreamNetworkServiceType, kCFStreamNetworkServiceTypeVoice));
    CFStringRef type = CFWriteStreamCopyProperty(writer, kCFStreamNetworkServiceType);
    CHECK(type != NULL && CFEqual(type, kCFStreamNetworkServiceTypeVoice));
    CFRelease(type);
    CHECK(!CFReadStreamSetProperty(reader, kCFStreamNetworkServiceType, CFSTR("Voice")));

    // Properties that mean nothing on Linux: they are refused, and have no value.
    const CFStringRef absent[] = {kCFStreamPropertySSLContext, kCFStreamPropertySSLPeerTrust, kCFStreamPropertyNoCellular,
        kCFStreamPropertyConnectionIsCellular, kCFStreamPropertyAllowExpensiveNetworkAccess, kCFStreamPropertyConnectionIsExpensive,
        kCFStreamPropertyAllowConstrainedNetworkAccess, kCFStreamPropertySocketExtendedBackgroundIdleMode,
        kCFStreamPropertySocketRemoteNetService, kCFStreamPropertyCONNECTResponse, kCFStreamPropertyPreviousCONNECTResponse};
    for (unsigned i = 0; i < sizeof absent / sizeof *absent; i++) {
        CHECK(!CFReadStreamSetProperty(reader, absent[i], kCFBooleanTrue));
        CHECK(CFReadStreamCopyProperty(reader, absent[i]) == NULL);
    }

    // Security levels.
    CHECK(CFReadStreamSetProperty(reader, kCFStreamPropertySocketSecurityLevel, kCFStreamSocketSecurityLevelNegotiatedSSL));
    CFStringRef level = CFWriteStreamCopyProperty(writer, kCFStreamPropertySocketSecurityLevel);
    CHECK(level != NULL && CFEqual(level, kCFStreamSocketSecurityLevelNegotiatedSSL));
    CFRelease(level);
    CHECK(!CFReadStreamSetProperty(reader, kCFStreamPropertySocketSecurityLevel, kCFStreamSocketSecurityLevelSSLv2));
    CHECK(!CFReadStreamSetProperty(reader, kCFStreamPropertySocketSecurityLevel, kCFStreamSocketSecurityLevelSSLv3));
    CHECK(CFSocketStreamPairSetSecurityProtocol(reader, writer, kCFStreamSocketSecurityNone));
    CHECK(CFSocketStreamPairSetSecurityProtocol(reader, writer, kCFStreamSocketSecuritySSLv23));
    CHECK(CFSocketStreamPairSetSecurityProtocol(reader, writer, kCFStreamSocketSecurityTLSv1));
    CHECK(!CFSocketStreamPairSetSecurityProtocol(reader, writer, kCFStreamSocketSecuritySSLv3));
    CFRelease(reader);
    CFRelease(writer);

    const char *failure = connectProxies();
    if (failure) return failure;

    // TLS settings: each key, and the values that are refused.
    CHECK(sets(kCFStreamPropertySSLSettings, kCFStreamSSLLevel, kCFStreamSocketSecurityLevelTLSv1));
    CHECK(!sets(kCFStreamPropertySSLSettings, kCFStreamSSLLevel, kCFStreamSocketSecurityLevelSSLv3));
    CHECK(sets(kCFStreamPropertySSLSettings, kCFStreamSSLPeerName, CFSTR("www.example.com")));
    CHECK(sets(kCFStreamPropertySSLSettings, kCFStreamSSLPeerName, kCFNull));
    CHECK(!sets(kCFStreamPropertySSLSettings, kCFStreamSSLPeerName, kCFBooleanTrue));
    CHECK(sets(kCFStreamPropertySSLSettings, kCFStreamSSLValidatesCertificateChain, kCFBooleanFalse));
    CHECK(sets(kCFStreamPropertySSLSettings, kCFStreamSSLAllowsAnyRoot, kCFBooleanTrue));
    CHECK(sets(kCFStreamPropertySSLSettings, kCFStreamSSLAllowsExpiredRoots, kCFBooleanTrue));
    CHECK(sets(kCFStreamPropertySSLSettings, kCFStreamSSLAllowsExpiredCertificates, kCFBooleanTrue));
    CHECK(!sets(kCFStreamPropertySSLSettings, kCFStreamSSLIsServer, kCFBooleanTrue)); // without a certificate
    CHECK(!sets(kCFStreamPropertySSLSettings, kCFStreamSSLCertificates, CFSTR("PEM")));
    CHECK(!sets(kCFStreamPropertySSLSettings, CFSTR("kCFStreamSSLOther"), kCFBooleanTrue));

    // SOCKS.
    CHECK(sets(kCFStreamPropertySOCKSProxy, kCFStreamPropertySOCKSProxyHost, CFSTR("proxy.example")));
    CHECK(!sets(kCFStreamPropertySOCKSProxy, kCFStreamPropertySOCKSProxyHost, kCFBooleanTrue));
    CHECK(!sets(kCFStreamPropertySOCKSProxy, kCFStreamPropertySOCKSVersion, kCFStreamSocketSOCKSVersion4)); // without a host
    CFStreamCreatePairWithSocketToHost(NULL, CFSTR("192.0.2.1"), 9, &reader, &writer);
    int port = 1081;
    CFNumberRef number = CFNumberCreate(NULL, kCFNumberIntType, &port);
    const void *keys[] = {kCFStreamPropertySOCKSProxyHost, kCFStreamPropertySOCKSProxyPort, kCFStreamPropertySOCKSVersion,
        kCFStreamPropertySOCKSUser, kCFStreamPropertySOCKSPassword};
    const void *values[] = {CFSTR("proxy.example"), number, kCFStreamSocketSOCKSVersion5, CFSTR("joe"), CFSTR("secret")};
    CFDictionaryRef proxy = dictionary(5, keys, values);
    CHECK(CFReadStreamSetProperty(reader, kCFStreamPropertySOCKSProxy, proxy));
    CFRelease(proxy);
    CFRelease(number);
    proxy = CFWriteStreamCopyProperty(writer, kCFStreamPropertySOCKSProxy);
    CHECK(proxy != NULL && CFDictionaryGetCount(proxy) == 4);
    CHECK(CFEqual(CFDictionaryGetValue(proxy, kCFStreamPropertySOCKSProxyHost), CFSTR("proxy.example")));
    CHECK(CFEqual(CFDictionaryGetValue(proxy, kCFStreamPropertySOCKSVersion), kCFStreamSocketSOCKSVersion5));
    CFRelease(proxy);
    CHECK(CFReadStreamSetProperty(reader, kCFStreamPropertySOCKSProxy, NULL));
    CHECK(CFReadStreamCopyProperty(reader, kCFStreamPropertySOCKSProxy) == NULL);
    CFRelease(reader);
    CFRelease(writer);
    return NULL;
}

/// A SOCKS 4 server that refuses every request.
static void refuse(struct Peer *peer, int connection) {
    (void)peer;
    char request[64];
    if (recv(connection, request, sizeof request, 0) < 8) return;
    send(connection, "\0\x5B\0\0\0\0\0\0", 8, MSG_NOSIGNAL);
}

// Parity: SK-048, SK-114
const char *CFNetworkSOCKSProgram(void) {
    struct Peer peer;
    CHECK(PeerStart(&peer, refuse) == 0);
    CFReadStreamRef reader;
    CFStreamCreatePairWithSocketToHost(NULL, CFSTR("192.0.2.1"), 9, &reader, NULL);
    int port = peer.port;
    CFNumberRef number = CFNumberCreate(NULL, kCFNumberIntType, &port);
    const void *keys[] = {kCFStreamPropertySOCKSProxyHost, kCFStreamPropertySOCKSProxyPort, kCFStreamPropertySOCKSVersion};
    const void *values[] = {CFSTR("127.0.0.1"), number, kCFStreamSocketSOCKSVersion4};
    CFDictionaryRef proxy = dictionary(3, keys, values);
    CHECK(CFReadStreamSetProperty(reader, kCFStreamPropertySOCKSProxy, proxy));
    CFReadStreamOpen(reader);
    UInt8 byte;
    CHECK(CFReadStreamRead(reader, &byte, 1) == -1);
    CFStreamError error = CFReadStreamGetError(reader);
    CHECK(error.domain == kCFStreamErrorDomainSOCKS);
    CHECK(CFSocketStreamSOCKSGetErrorSubdomain(&error) == kCFStreamErrorSOCKS4SubDomainResponse);
    CHECK(CFSocketStreamSOCKSGetError(&error) == kCFStreamErrorSOCKS4RequestFailed);
    CFErrorRef object = CFReadStreamCopyError(reader);
    CHECK(CFEqual(CFErrorGetDomain(object), kCFErrorDomainCFNetwork) && CFErrorGetCode(object) == kCFSOCKS4ErrorRequestFailed);
    CFRelease(object);
    CFRelease(proxy);
    CFRelease(number);
    CFRelease(reader);
    PeerStop(&peer);
    return NULL;
}

/// Opens TLS over a pair of sockets in one thread: each side waits for the other by polling.
// Parity: SK-090, SK-097, SK-098, SK-099
const char *CFNetworkTLSProgram(const char *pem) {
    int before = openSockets(), pair[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    CFReadStreamRef readers[2];
    CFWriteStreamRef writers[2];
    CFDataRef data = CFDataCreate(NULL, (const UInt8 *)pem, (CFIndex)strlen(pem));
    CFArrayRef certificates = CFArrayCreate(NULL, (const void **)&data, 1, &kCFTypeArrayCallBacks);
    const void *serverKeys[] = {kCFStreamSSLIsServer, kCFStreamSSLCertificates}, *serverValues[] = {kCFBooleanTrue, certificates};
    const void *clientKeys[] = {kCFStreamSSLPeerName, kCFStreamSSLValidatesCertificateChain};
    const void *clientValues[] = {CFSTR("localhost"), kCFBooleanFalse};
    CFDictionaryRef settings[2] = {dictionary(2, serverKeys, serverValues), dictionary(2, clientKeys, clientValues)};
    for (int i = 0; i < 2; i++) {
        CFStreamCreatePairWithSocket(NULL, pair[i], &readers[i], &writers[i]);
        CHECK(CFReadStreamSetProperty(readers[i], kCFStreamPropertyShouldCloseNativeSocket, kCFBooleanTrue));
        CHECK(CFReadStreamSetProperty(readers[i], kCFStreamPropertySSLSettings, settings[i]));
        CFDictionaryRef copy = CFReadStreamCopyProperty(readers[i], kCFStreamPropertySSLSettings);
        CHECK(copy != NULL && CFDictionaryGetCount(copy) == 2);
        CFRelease(copy);
        CHECK(CFReadStreamOpen(readers[i]) && CFWriteStreamOpen(writers[i]));
    }
    CHECK(CFWriteStreamWrite(writers[1], (const UInt8 *)"secret", 6) == 6);
    UInt8 bytes[16];
    CHECK(CFReadStreamRead(readers[0], bytes, sizeof bytes) == 6 && !memcmp(bytes, "secret", 6));
    CFArrayRef peers = CFReadStreamCopyProperty(readers[1], kCFStreamPropertySSLPeerCertificates);
    CHECK(peers != NULL && CFArrayGetCount(peers) >= 1);
    CFDataRef der = SecCertificateCopyData((SecCertificateRef)CFArrayGetValueAtIndex(peers, 0));
    CHECK(CFDataGetLength(der) > 100);
    CFRelease(der);
    CFRelease(peers);
    // The same settings again change nothing; others cannot replace them.
    CHECK(CFWriteStreamSetProperty(writers[1], kCFStreamPropertySSLSettings, settings[1]));
    CHECK(!CFReadStreamSetProperty(readers[1], kCFStreamPropertySSLSettings, settings[0]));
    CHECK(!CFReadStreamSetProperty(readers[1], kCFStreamPropertySSLSettings, NULL));
    for (int i = 0; i < 2; i++) {
        CFReadStreamClose(readers[i]);
        CFWriteStreamClose(writers[i]);
        CFRelease(readers[i]);
        CFRelease(writers[i]);
        CFRelease(settings[i]);
    }
    CFRelease(certificates);
    CFRelease(data);
    CHECK(openSockets() == before);
    return NULL;
}

static void upgradeEvent(CFReadStreamRef stream, CFStreamEventType event, void *info) {
    UInt8 bytes[16];
    CFMutableStringRef log = info;
    CFStringAppend(log, event == kCFStreamEventOpenCompleted ? CFSTR("open ") : event == kCFStreamEventHasBytesAvailable ? CFSTR("bytes ") : CFSTR("other "));
    if (event == kCFStreamEventHasBytesAvailable && CFReadStreamRead(stream, bytes, sizeof bytes) == 5) CFRunLoopStop(CFRunLoopGetCurrent());
}

/// TLS that begins on open streams, as after a STARTTLS command: the client keeps its run loop and its events.
// Parity: SK-093, SK-101
const char *CFNetworkUpgradeProgram(const char *pem) {
    for (int verifies = 0; verifies < 2; verifies++) {
        int pair[2];
        CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
        CFReadStreamRef readers[2];
        CFWriteStreamRef writers[2];
        for (int i = 0; i < 2; i++) {
            CFStreamCreatePairWithSocket(NULL, pair[i], &readers[i], &writers[i]);
            CHECK(CFReadStreamSetProperty(readers[i], kCFStreamPropertyShouldCloseNativeSocket, kCFBooleanTrue));
        }
        CFMutableStringRef log = CFStringCreateMutable(NULL, 0);
        CFStreamClientContext context = {0, log, NULL, NULL, NULL};
        CHECK(CFReadStreamSetClient(readers[1], kCFStreamEventOpenCompleted | kCFStreamEventHasBytesAvailable | kCFStreamEventErrorOccurred, upgradeEvent, &context));
        CFReadStreamScheduleWithRunLoop(readers[1], CFRunLoopGetCurrent(), kCFRunLoopDefaultMode);
        for (int i = 0; i < 2; i++) CHECK(CFReadStreamOpen(readers[i]) && CFWriteStreamOpen(writers[i]));
        CHECK(CFWriteStreamWrite(writers[0], (const UInt8 *)"plain", 5) == 5);
        CHECK(CFRunLoopRunInMode(kCFRunLoopDefaultMode, 20, FALSE) == kCFRunLoopRunStopped && CFEqual(log, CFSTR("open bytes ")));

        CFDataRef data = CFDataCreate(NULL, (const UInt8 *)pem, (CFIndex)strlen(pem));
        CFArrayRef certificates = CFArrayCreate(NULL, (const void **)&data, 1, &kCFTypeArrayCallBacks);
        const void *keys[] = {kCFStreamSSLIsServer, kCFStreamSSLCertificates, kCFStreamSSLPeerName, kCFStreamSSLValidatesCertificateChain};
        const void *values[] = {kCFBooleanTrue, certificates, CFSTR("localhost"), kCFBooleanFalse};
        CFDictionaryRef server = dictionary(2, keys, values), client = dictionary(verifies ? 1 : 2, keys + 2, values + 2);
        CHECK(CFReadStreamSetProperty(readers[0], kCFStreamPropertySSLSettings, server));
        if (verifies) { // needs a name, which a socket does not have; the root of the certificate is unknown
            CHECK(!CFWriteStreamSetProperty(writers[1], kCFStreamPropertySocketSecurityLevel, kCFStreamSocketSecurityLevelNegotiatedSSL));
            CHECK(CFWriteStreamSetProperty(writers[1], kCFStreamPropertySSLSettings, client));
            CHECK(CFReadStreamSetProperty(readers[1], kCFStreamPropertySSLSettings, client));
            UInt8 byte;
            while (CFReadStreamRead(readers[1], &byte, 1) > 0) continue;
            CHECK(CFReadStreamGetStatus(readers[1]) == kCFStreamStatusError && CFReadStreamGetError(readers[1]).domain == kCFStreamErrorDomainSSL);
        } else {
            CHECK(CFReadStreamSetProperty(readers[1], kCFStreamPropertySSLSettings, client));
            CHECK(CFWriteStreamSetProperty(writers[1], kCFStreamPropertySSLSettings, client));
            CFDictionaryRef copy = CFWriteStreamCopyProperty(writers[1], kCFStreamPropertySSLSettings);
            CHECK(copy != NULL && CFEqual(copy, client));
            CFRelease(copy);
            CHECK(CFWriteStreamWrite(writers[0], (const UInt8 *)"again", 5) == 5);
            CHECK(CFRunLoopRunInMode(kCFRunLoopDefaultMode, 20, FALSE) == kCFRunLoopRunStopped && CFEqual(log, CFSTR("open bytes bytes ")));
            CFArrayRef peers = CFWriteStreamCopyProperty(writers[1], kCFStreamPropertySSLPeerCertificates);
            CHECK(peers != NULL && CFArrayGetCount(peers) >= 1);
            CFRelease(peers);
        }
        CFReadStreamUnscheduleFromRunLoop(readers[1], CFRunLoopGetCurrent(), kCFRunLoopDefaultMode);
        CHECK(CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, FALSE) == kCFRunLoopRunFinished);
        for (int i = 0; i < 2; i++) {
            CFReadStreamClose(readers[i]);
            CFWriteStreamClose(writers[i]);
            CFRelease(readers[i]);
            CFRelease(writers[i]);
        }
        CFRelease(client);
        CFRelease(server);
        CFRelease(certificates);
        CFRelease(data);
        CFRelease(log);
    }
    return NULL;
}
