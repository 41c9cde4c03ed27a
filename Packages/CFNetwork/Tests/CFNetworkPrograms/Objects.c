#include "Objects.h"
#include "CFNetworkPrograms.h"
#include "Check.h"
#include <pthread.h>
#include <string.h>

static const void *classOf(CFTypeRef object) { return *(const void *const *)object; }

static CFErrorRef createError(void) { return CFErrorCreate(NULL, kCFErrorDomainPOSIX, 1, NULL); }

/// The classes of CoreFoundation's objects, and of this library's.
static Boolean isClass(const void *class) {
    static const void *classes[16];
    static size_t count;
    if (count == 0) {
        int number = 7;
        const CFTypeRef created[] = {
            CFStringCreateWithCString(NULL, "a string", kCFStringEncodingUTF8), CFDataCreate(NULL, (const UInt8 *)"x", 1),
            CFNumberCreate(NULL, kCFNumberIntType, &number), CFDateCreate(NULL, 0), CFURLCreateWithString(NULL, CFSTR("http://a/"), NULL),
            CFArrayCreate(NULL, NULL, 0, &kCFTypeArrayCallBacks),
            CFDictionaryCreate(NULL, NULL, NULL, 0, &kCFTypeDictionaryKeyCallBacks, &kCFTypeDictionaryValueCallBacks), createError(),
            CFHTTPMessageCreateEmpty(NULL, TRUE), CFHostCreateWithName(NULL, CFSTR("localhost")),
        };
        for (size_t i = 0; i < sizeof created / sizeof *created; i++) {
            classes[count++] = classOf(created[i]);
            CFRelease(created[i]);
        }
        classes[count++] = classOf(CFSTR("constant"));
        classes[count++] = classOf(kCFBooleanTrue);
        classes[count++] = classOf(kCFNull);
    }
    for (size_t i = 0; i < count; i++)
        if (classes[i] == class) return TRUE;
    return FALSE;
}

static void checkElement(const void *element, void *result) { *(Boolean *)result &= isCoreFoundation(element); }

static void checkEntry(const void *key, const void *value, void *result) {
    *(Boolean *)result &= isCoreFoundation(key) && isCoreFoundation(value);
}

Boolean isCoreFoundation(CFTypeRef object) {
    if (object == NULL || !isClass(classOf(object))) return FALSE;
    CFStringRef description = CFCopyDescription(object);
    if (description == NULL || !isClass(classOf(description))) return FALSE;
    CFRelease(description);
    Boolean result = CFEqual(object, object) && CFHash(object) == CFHash(object);
    CFTypeID type = CFGetTypeID(object);
    if (type == CFArrayGetTypeID()) CFArrayApplyFunction(object, CFRangeMake(0, CFArrayGetCount(object)), checkElement, &result);
    if (type == CFDictionaryGetTypeID()) CFDictionaryApplyFunction(object, checkEntry, &result);
    if (type == CFErrorGetTypeID()) {
        CFDictionaryRef facts = CFErrorCopyUserInfo((CFErrorRef)object);
        CFStringRef sentence = CFErrorCopyDescription((CFErrorRef)object);
        result &= isCoreFoundation(facts) && isCoreFoundation(sentence);
        CFRelease(facts);
        CFRelease(sentence);
    }
    return result;
}

/// Whether a copied object is acceptable; releases it.
static Boolean accepts(CFTypeRef object) {
    if (!isCoreFoundation(object)) return FALSE;
    CFRelease(object);
    return TRUE;
}

Boolean readerHas(CFReadStreamRef stream, CFStringRef property) { return accepts(CFReadStreamCopyProperty(stream, property)); }
Boolean writerHas(CFWriteStreamRef stream, CFStringRef property) { return accepts(CFWriteStreamCopyProperty(stream, property)); }

static CFDictionaryRef createDictionary(CFIndex count, const void **keys, const void **values) {
    return CFDictionaryCreate(NULL, keys, values, count, &kCFTypeDictionaryKeyCallBacks, &kCFTypeDictionaryValueCallBacks);
}

/// A dictionary comes back with the objects that the program has put into it, whatever they are.
static const char *dictionaries(CFReadStreamRef http) {
    int port = 8080;
    double share = 0.5;
    CFHostRef host = CFHostCreateWithName(NULL, CFSTR("localhost"));
    CFNumberRef number = CFNumberCreate(NULL, kCFNumberIntType, &port), real = CFNumberCreate(NULL, kCFNumberDoubleType, &share);
    CFDateRef date = CFDateCreate(NULL, 1000);
    CFURLRef url = CFURLCreateWithString(NULL, CFSTR("http://www.example.com/"), NULL);
    CFDataRef data = CFDataCreate(NULL, (const UInt8 *)"\0\1", 2);
    const void *elements[] = {CFSTR("one"), number, data};
    CFArrayRef array = CFArrayCreate(NULL, elements, 3, &kCFTypeArrayCallBacks);
    const void *innerKeys[] = {CFSTR("inner"), number}, *innerValues[] = {array, CFSTR("of a number")};
    CFDictionaryRef inner = createDictionary(2, innerKeys, innerValues);
    const void *keys[] = {kCFStreamPropertyHTTPProxyHost, kCFStreamPropertyHTTPProxyPort, CFSTR("dictionary"), CFSTR("array"), CFSTR("data"),
        CFSTR("date"), CFSTR("real"), CFSTR("flag"), CFSTR("null"), CFSTR("url"), CFSTR("host")};
    const void *values[] = {CFSTR("proxy.example"), number, inner, array, data, date, real, kCFBooleanTrue, kCFNull, url, host};
    CFDictionaryRef settings = createDictionary(11, keys, values);
    CHECK(CFReadStreamSetProperty(http, kCFStreamPropertyHTTPProxy, settings));
    CHECK(readerHas(http, kCFStreamPropertyHTTPProxy));
    CFDictionaryRef back = CFReadStreamCopyProperty(http, kCFStreamPropertyHTTPProxy);
    CHECK(CFEqual(back, settings) && CFDictionaryGetValue(back, CFSTR("host")) == host);
    CFNumberRef found = CFDictionaryGetValue(back, CFSTR("real"));
    CHECK(CFNumberIsFloatType(found) && CFDictionaryGetValue(back, CFSTR("flag")) == kCFBooleanTrue);
    CFRelease(back);
    const CFTypeRef all[] = {settings, inner, array, data, url, date, real, number, host};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) CFRelease(all[i]);
    return NULL;
}

const char *CFNetworkObjectsProgram(void) {
    // Properties that have a value before the stream is open.
    CFURLRef url = CFURLCreateWithString(NULL, CFSTR("http://127.0.0.1:9/"), NULL);
    CFHTTPMessageRef request = CFHTTPMessageCreateRequest(NULL, CFSTR("GET"), url, kCFHTTPVersion1_1);
    CFReadStreamRef http = CFReadStreamCreateForHTTPRequest(NULL, request);
    CHECK(CFReadStreamSetProperty(http, kCFStreamPropertyHTTPShouldAutoredirect, kCFBooleanTrue));
    CHECK(CFReadStreamSetProperty(http, kCFStreamPropertyHTTPAttemptPersistentConnection, kCFBooleanTrue));
    CHECK(readerHas(http, kCFStreamPropertyHTTPShouldAutoredirect) && readerHas(http, kCFStreamPropertyHTTPAttemptPersistentConnection));
    CHECK(readerHas(http, kCFStreamPropertyHTTPRequestBytesWrittenCount));
    const char *failure = dictionaries(http);
    if (failure) return failure;
    CFRelease(http);

    CFReadStreamRef reader;
    CFWriteStreamRef writer;
    CFStreamCreatePairWithSocketToHost(NULL, CFSTR("127.0.0.1"), 9, &reader, &writer);
    int port = 1080;
    CFNumberRef number = CFNumberCreate(NULL, kCFNumberIntType, &port);
    const void *socksKeys[] = {kCFStreamPropertySOCKSProxyHost, kCFStreamPropertySOCKSProxyPort}, *socksValues[] = {CFSTR("proxy.example"), number};
    CFDictionaryRef socks = createDictionary(2, socksKeys, socksValues);
    CHECK(CFReadStreamSetProperty(reader, kCFStreamPropertySOCKSProxy, socks) && readerHas(reader, kCFStreamPropertySOCKSProxy));
    CHECK(CFReadStreamSetProperty(reader, kCFStreamPropertySOCKSProxy, NULL));
    const void *connectKeys[] = {kCFStreamPropertyCONNECTProxyHost, kCFStreamPropertyCONNECTProxyPort};
    CFDictionaryRef connect = createDictionary(2, connectKeys, socksValues);
    CHECK(CFReadStreamSetProperty(reader, kCFStreamPropertyCONNECTProxy, connect) && writerHas(writer, kCFStreamPropertyCONNECTProxy));
    CHECK(CFReadStreamSetProperty(reader, kCFStreamPropertySocketSecurityLevel, kCFStreamSocketSecurityLevelNegotiatedSSL));
    CHECK(readerHas(reader, kCFStreamPropertySocketSecurityLevel));
    CHECK(CFReadStreamSetProperty(reader, kCFStreamNetworkServiceType, kCFStreamNetworkServiceTypeVoice));
    CHECK(readerHas(reader, kCFStreamNetworkServiceType) && readerHas(reader, kCFStreamPropertySocketRemoteHostName));
    CHECK(readerHas(reader, kCFStreamPropertySocketRemotePortNumber));
    const void *sslKeys[] = {kCFStreamSSLPeerName, kCFStreamSSLValidatesCertificateChain}, *sslValues[] = {CFSTR("localhost"), kCFBooleanFalse};
    CFDictionaryRef ssl = createDictionary(2, sslKeys, sslValues);
    CHECK(CFReadStreamSetProperty(reader, kCFStreamPropertySSLSettings, ssl) && writerHas(writer, kCFStreamPropertySSLSettings));

    // A stream's own state is no property, under any name.
    const CFStringRef names[] = {CFSTR("CFNetwork.state"), CFSTR("CFNetwork.remoteService"), kCFStreamPropertySSLContext, kCFStreamPropertySSLPeerTrust};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        CHECK(CFReadStreamCopyProperty(reader, names[i]) == NULL && CFWriteStreamCopyProperty(writer, names[i]) == NULL);
        CHECK(!CFReadStreamSetProperty(reader, names[i], kCFBooleanTrue));
    }
    // Functions of this library still find the state.
    CFNetDiagnosticRef diagnostic = CFNetDiagnosticCreateWithStreams(NULL, reader, writer);
    CFStringRef sentence = NULL;
    CFNetDiagnosticCopyNetworkStatusPassively(diagnostic, &sentence);
    CHECK(isCoreFoundation(diagnostic) && isCoreFoundation(sentence));
    CFRelease(sentence);
    CFRelease(diagnostic);
    CFReadStreamOpen(reader);
    CFErrorRef error = CFReadStreamCopyError(reader);
    CHECK(error == NULL || isCoreFoundation(error));
    if (error != NULL) CFRelease(error);

    CFDictionaryRef proxies = CFNetworkCopySystemProxySettings();
    CHECK(isCoreFoundation(proxies));
    CFArrayRef choices = CFNetworkCopyProxiesForURL(url, proxies);
    CHECK(isCoreFoundation(choices));

    CFReadStreamClose(reader);
    const CFTypeRef all[] = {proxies, choices, url, request, reader, writer, number, socks, connect, ssl};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) CFRelease(all[i]);
    return NULL;
}

enum { threadCount = 8, getterCount = 8 };

/// What the threads of a round share.
struct Round {
    pthread_barrier_t barrier;
    CFHostRef host;
    CFNetServiceRef service;
    CFDataRef records[2];
    CFTypeRef found[threadCount][getterCount];
    Boolean isChanging, isOver, hasFailed;
};

struct Worker {
    struct Round *round;
    int number;
};

static void getAll(struct Round *round, CFTypeRef *found) {
    found[0] = CFHostGetAddressing(round->host, NULL);
    found[1] = CFHostGetNames(round->host, NULL);
    found[2] = CFNetServiceGetName(round->service);
    found[3] = CFNetServiceGetType(round->service);
    found[4] = CFNetServiceGetDomain(round->service);
    found[5] = CFNetServiceGetTargetHost(round->service);
    found[6] = CFNetServiceGetAddressing(round->service);
    found[7] = CFNetServiceGetProtocolSpecificInformation(round->service);
}

static void *work(void *argument) {
    const struct Worker *worker = argument;
    struct Round *round = worker->round;
    for (;;) {
        pthread_barrier_wait(&round->barrier);
        if (round->isOver) return NULL;
        if (round->isChanging) {
            // One thread changes the value that the others read.
            for (int i = 0; i < 50; i++) {
                if (worker->number == 0) CFNetServiceSetTXTData(round->service, round->records[i % 2]);
                CFDataRef record = CFNetServiceGetTXTData(round->service);
                CFRetain(record);
                if (!CFEqual(record, round->records[0]) && !CFEqual(record, round->records[1])) round->hasFailed = TRUE;
                CFRelease(record);
            }
        } else {
            CFTypeRef *found = round->found[worker->number];
            getAll(round, found);
            for (int i = 0; i < getterCount; i++) CFRetain(found[i]);
        }
        pthread_barrier_wait(&round->barrier);
    }
}

const char *CFNetworkThreadsProgram(CFHostRef host, CFNetServiceRef service) {
    struct Round round = {.isOver = FALSE};
    round.records[0] = CFDataCreate(NULL, (const UInt8 *)"\3a=1", 4);
    round.records[1] = CFDataCreate(NULL, (const UInt8 *)"\4a=22", 5);
    pthread_barrier_init(&round.barrier, NULL, threadCount + 1);
    pthread_t threads[threadCount];
    struct Worker workers[threadCount];
    for (int i = 0; i < threadCount; i++) {
        workers[i] = (struct Worker){&round, i};
        CHECK(pthread_create(&threads[i], NULL, work, &workers[i]) == 0);
    }
    CFTypeRef expected[getterCount];
    round.host = host;
    round.service = service;
    CHECK(CFNetServiceSetTXTData(service, round.records[0]));
    getAll(&round, expected);
    for (int count = 0; count < 500; count++) {
        // The copies have all values, and no objects yet.
        round.host = CFHostCreateCopy(NULL, host);
        round.service = CFNetServiceCreateCopy(NULL, service);
        round.isChanging = count % 2;
        pthread_barrier_wait(&round.barrier);
        pthread_barrier_wait(&round.barrier);
        CHECK(!round.hasFailed);
        for (int i = 0; i < getterCount && !round.isChanging; i++) {
            CHECK(CFEqual(round.found[0][i], expected[i]));
            for (int j = 0; j < threadCount; j++) {
                CHECK(round.found[j][i] == round.found[0][i]);
                CFRelease(round.found[j][i]);
            }
        }
        CFRelease(round.host);
        CFRelease(round.service);
    }
    round.isOver = TRUE;
    pthread_barrier_wait(&round.barrier);
    for (int i = 0; i < threadCount; i++) pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&round.barrier);

    // An object outlives the change of its value, and returns with the value.
    CFDataRef first = CFNetServiceGetTXTData(service);
    CHECK(CFNetServiceSetTXTData(service, round.records[1]) && CFNetServiceGetTXTData(service) != first);
    CHECK(CFEqual(first, round.records[0]));
    CHECK(CFNetServiceSetTXTData(service, round.records[0]) && CFNetServiceGetTXTData(service) == first);
    CFRelease(round.records[0]);
    CFRelease(round.records[1]);
    return NULL;
}
