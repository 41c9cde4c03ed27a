#include "CFNetworkPrograms.h"
#include "Check.h"
#include <CFNetworkRuntime.h>
#include <CoreServices/CoreServices.h>
#include <string.h>

/// Whether a string that the caller owns has this text; releases it.
static Boolean isText(CFStringRef string, const char *text) {
    char buffer[512];
    if (string == NULL) return text == NULL;
    Boolean same = text != NULL && CFStringGetCString(string, buffer, sizeof buffer, kCFStringEncodingUTF8) && !strcmp(buffer, text);
    CFRelease(string);
    return same;
}

/// Whether a data object that the caller owns has these bytes; releases it.
static Boolean isBytes(CFDataRef data, const char *text) {
    if (data == NULL) return text == NULL;
    Boolean same = text != NULL && (size_t)CFDataGetLength(data) == strlen(text) && !memcmp(CFDataGetBytePtr(data), text, strlen(text));
    CFRelease(data);
    return same;
}

// Parity: HM-001, HM-004, HM-007, HM-009, HM-010, HM-011, HM-013, HM-014, HM-045, HM-046, HM-047, HM-048, HM-049, HM-050
// Parity: HM-051, HM-052
const char *CFNetworkMessageProgram(void) {
    CFURLRef url = CFURLCreateWithString(NULL, CFSTR("http://www.example.com/form?x=1"), NULL);
    CFHTTPMessageRef request = CFHTTPMessageCreateRequest(kCFAllocatorDefault, CFSTR("POST"), url, kCFHTTPVersion1_1);
    CHECK(request != NULL);
    CHECK(CFGetTypeID(request) == CFHTTPMessageGetTypeID());
    CHECK(CFHTTPMessageIsRequest(request) && !CFHTTPMessageIsHeaderComplete(request));
    CHECK(isText(CFHTTPMessageCopyRequestMethod(request), "POST"));
    CHECK(isText(CFHTTPMessageCopyVersion(request), "HTTP/1.1"));
    CHECK(CFHTTPMessageCopyResponseStatusLine(request) == NULL && CFHTTPMessageGetResponseStatusCode(request) == -1);
    CFURLRef same = CFHTTPMessageCopyRequestURL(request);
    CHECK(same == url);
    CFRelease(same);

    // Fields: one per name, in the order in which they were first set.
    CFHTTPMessageSetHeaderFieldValue(request, CFSTR("HOST"), CFSTR("first"));
    CFHTTPMessageSetHeaderFieldValue(request, CFSTR("X-Removed"), CFSTR("x"));
    CFHTTPMessageSetHeaderFieldValue(request, CFSTR("content-length"), CFSTR("2"));
    CFHTTPMessageSetHeaderFieldValue(request, CFSTR("Host"), CFSTR("www.example.com"));
    CFHTTPMessageSetHeaderFieldValue(request, CFSTR("x-removed"), NULL);
    CFHTTPMessageSetHeaderFieldValue(request, CFSTR("X-Forged"), CFSTR("a\r\nX-Injected: b"));
    CFHTTPMessageSetHeaderFieldValue(request, CFSTR("X Y"), CFSTR("no token"));
    CHECK(isText(CFHTTPMessageCopyHeaderFieldValue(request, CFSTR("hOST")), "www.example.com"));
    CHECK(CFHTTPMessageCopyHeaderFieldValue(request, CFSTR("X-Removed")) == NULL);
    CHECK(CFHTTPMessageCopyHeaderFieldValue(request, CFSTR("X-Forged")) == NULL);
    CFDictionaryRef fields = CFHTTPMessageCopyAllHeaderFields(request);
    CHECK(CFDictionaryGetCount(fields) == 2);
    CHECK(CFEqual(CFDictionaryGetValue(fields, CFSTR("Content-Length")), CFSTR("2")));
    CFRelease(fields);

    CHECK(CFHTTPMessageCopyBody(request) == NULL);
    CFMutableDataRef body = CFDataCreateMutable(NULL, 0);
    CFDataAppendBytes(body, (const UInt8 *)"ab", 2);
    CFHTTPMessageSetBody(request, body);
    CFDataAppendBytes(body, (const UInt8 *)"c", 1);
    CFRelease(body);
    CHECK(isBytes(CFHTTPMessageCopyBody(request), "ab"));

    // A copy is independent in both directions.
    CFHTTPMessageRef copy = CFHTTPMessageCreateCopy(NULL, request);
    CHECK(copy != request && !CFEqual(copy, request));
    CFHTTPMessageSetHeaderFieldValue(request, CFSTR("Host"), NULL);
    CHECK(isText(CFHTTPMessageCopyHeaderFieldValue(copy, CFSTR("Host")), "www.example.com"));
    const char *sent = "POST /form?x=1 HTTP/1.1\r\nHost: www.example.com\r\ncontent-length: 2\r\n\r\nab";
    CHECK(isBytes(CFHTTPMessageCopySerializedMessage(copy), sent));
    CHECK(!CFHTTPMessageAppendBytes(copy, (const UInt8 *)"x", 1));
    CHECK(isBytes(CFHTTPMessageCopySerializedMessage(copy), sent));

    // In collections, and described.
    CFArrayRef list = CFArrayCreate(NULL, (const void **)&copy, 1, &kCFTypeArrayCallBacks);
    CHECK(CFArrayContainsValue(list, CFRangeMake(0, 1), copy));
    CFStringRef description = CFCopyDescription(copy);
    CHECK(CFStringHasPrefix(description, CFSTR("<CFHTTPMessage 0x")));
    CHECK(CFStringHasSuffix(description, CFSTR("{POST /form?x=1 HTTP/1.1}")));
    CFRelease(description);
    CFRelease(list);
    CFRelease(copy);
    CFRelease(request);

    // Arguments that no message can have.
    CHECK(CFHTTPMessageCreateRequest(NULL, CFSTR("GET IT"), url, kCFHTTPVersion1_1) == NULL);
    CHECK(CFHTTPMessageCreateRequest(NULL, CFSTR("GET"), url, CFSTR("FTP/1.1")) == NULL);
    CHECK(CFHTTPMessageCreateResponse(NULL, 20, NULL, kCFHTTPVersion1_1) == NULL);
    CHECK(CFHTTPMessageCreateResponse(NULL, 200, CFSTR("a\r\nb"), kCFHTTPVersion1_1) == NULL);
    CFRelease(url);

    CFHTTPMessageRef response = CFHTTPMessageCreateResponse(NULL, 404, NULL, kCFHTTPVersion1_0);
    CHECK(!CFHTTPMessageIsRequest(response) && CFHTTPMessageGetResponseStatusCode(response) == 404);
    CHECK(isText(CFHTTPMessageCopyResponseStatusLine(response), "HTTP/1.0 404 Not Found"));
    CHECK(CFHTTPMessageCopyRequestMethod(response) == NULL && CFHTTPMessageCopyRequestURL(response) == NULL);
    CHECK(isBytes(CFHTTPMessageCopySerializedMessage(response), "HTTP/1.0 404 Not Found\r\n\r\n"));
    CFRelease(response);
    return NULL;
}

/// Receives the bytes in two parts; returns the failed condition.
static const char *receive(const char *text, size_t split) {
    CFHTTPMessageRef message = CFHTTPMessageCreateEmpty(NULL, FALSE);
    CHECK(!CFHTTPMessageIsRequest(message) && CFHTTPMessageGetResponseStatusCode(message) == -1);
    CHECK(CFHTTPMessageCopyAllHeaderFields(message) == NULL && CFHTTPMessageCopySerializedMessage(message) == NULL);
    CHECK(CFHTTPMessageAppendBytes(message, (const UInt8 *)text, 0));
    CHECK(!CFHTTPMessageAppendBytes(message, (const UInt8 *)text, -1));
    CHECK(CFHTTPMessageAppendBytes(message, (const UInt8 *)text, (CFIndex)split));
    size_t head = (size_t)(strstr(text, "\r\n\r\n") - text) + 4;
    CHECK(CFHTTPMessageIsHeaderComplete(message) == (split >= head));
    CFHTTPMessageRef copy = CFHTTPMessageCreateCopy(NULL, message); // also of a header that is incomplete
    CFHTTPMessageRef both[] = {message, copy};
    for (int i = 0; i < 2; i++) {
        CHECK(CFHTTPMessageAppendBytes(both[i], (const UInt8 *)text + split, (CFIndex)(strlen(text) - split)));
        CHECK(CFHTTPMessageIsHeaderComplete(both[i]) && CFHTTPMessageGetResponseStatusCode(both[i]) == 401);
        CHECK(isText(CFHTTPMessageCopyResponseStatusLine(both[i]), "HTTP/1.1 401 Log In First"));
        CHECK(isText(CFHTTPMessageCopyHeaderFieldValue(both[i], CFSTR("accept")), "a, b"));
        CHECK(isBytes(CFHTTPMessageCopyBody(both[i]), "body"));
        CHECK(isBytes(CFHTTPMessageCopySerializedMessage(both[i]), text));
        CFRelease(both[i]);
    }
    return NULL;
}

// Parity: HM-006, HM-030, HM-031, HM-032, HM-034, HM-036, HM-046, HM-048, HM-050, HM-051
const char *CFNetworkReceivingProgram(void) {
    const char *text = "HTTP/1.1 401 Log In First\r\nWWW-Authenticate: Basic realm=\"r\"\r\nAccept: a\r\nAccept: b\r\n\r\nbody";
    for (size_t split = 0; split <= strlen(text); split++) {
        const char *failure = receive(text, split);
        if (failure != NULL) return failure;
    }

    // Invalid bytes make the message unusable.
    CFHTTPMessageRef bad = CFHTTPMessageCreateEmpty(NULL, TRUE);
    CHECK(!CFHTTPMessageAppendBytes(bad, (const UInt8 *)"GET\r\n\r\n", 7));
    CHECK(!CFHTTPMessageAppendBytes(bad, (const UInt8 *)"GET / HTTP/1.1\r\n\r\n", 18));
    CHECK(CFHTTPMessageIsRequest(bad) && CFHTTPMessageCopyRequestMethod(bad) == NULL);
    CHECK(isText(CFHTTPMessageCopyVersion(bad), "HTTP/1.1"));
    CFRelease(bad);

    // Settings before the header is complete.
    CFHTTPMessageRef early = CFHTTPMessageCreateEmpty(NULL, TRUE);
    CFHTTPMessageSetHeaderFieldValue(early, CFSTR("X-A"), CFSTR("mine"));
    CFHTTPMessageSetHeaderFieldValue(early, CFSTR("X-B"), NULL);
    CFHTTPMessageSetHeaderFieldValue(early, CFSTR("X-C"), CFSTR("a\nb"));
    CHECK(isText(CFHTTPMessageCopyHeaderFieldValue(early, CFSTR("x-a")), "mine"));
    const char *request = "GET /a%20b?c HTTP/1.0\r\nX-A: theirs\r\nX-B: b\r\nX-C: c\r\n\r\n";
    CHECK(CFHTTPMessageAppendBytes(early, (const UInt8 *)request, (CFIndex)strlen(request)));
    CHECK(isText(CFHTTPMessageCopyHeaderFieldValue(early, CFSTR("X-A")), "mine"));
    CHECK(CFHTTPMessageCopyHeaderFieldValue(early, CFSTR("X-B")) == NULL);
    CHECK(isText(CFHTTPMessageCopyHeaderFieldValue(early, CFSTR("X-C")), "c"));
    CFURLRef url = CFHTTPMessageCopyRequestURL(early);
    CHECK(url != NULL && CFEqual(CFURLGetString(url), CFSTR("/a%20b?c")));
    CFRelease(url);
    CFRelease(early);
    return NULL;
}

// Parity: HM-003, SK-048
const char *CFNetworkConstantsProgram(void) {
    CHECK(CFEqual(kCFErrorDomainCFNetwork, CFSTR("kCFErrorDomainCFNetwork")));
    CHECK(CFEqual(kCFURLErrorFailingURLErrorKey, CFSTR("NSErrorFailingURLKey"))); // the keys of NSError
    CHECK(CFEqual(kCFURLErrorFailingURLStringErrorKey, CFSTR("NSErrorFailingURLStringKey")));
    CHECK(CFHash(kCFErrorDomainCFNetwork) == CFHash(CFSTR("kCFErrorDomainCFNetwork")));
    CHECK(CFEqual(kCFHTTPVersion1_0, CFSTR("HTTP/1.0")) && CFEqual(kCFHTTPVersion1_1, CFSTR("HTTP/1.1")));
    CHECK(CFGetTypeID(kCFHTTPAuthenticationSchemeDigest) == CFStringGetTypeID());
    CFRelease(CFRetain(kCFHTTPVersion1_1)); // Constants are never deallocated.
    CHECK(kCFHostErrorHostNotFound == 1 && kCFErrorHTTPParseFailure == 303 && kCFNetServiceErrorUnknown == -72000);
    return NULL;
}

const char *CFNetworkToolchainProgram(void) {
    struct CFNToolchainFunction functions[] = {{"_CFRuntimeRegisterClass", (const void *)CFRetain}, {"_CFDeinit", NULL}};
    CHECK(cfn_toolchain_compare(functions, 1, kCFHTTPVersion1_1).difference == NULL);
    struct CFNToolchainDifference found = cfn_toolchain_compare(functions, 2, kCFHTTPVersion1_1);
    CHECK(!strcmp(found.difference, "has no function ") && !strcmp(found.name, "_CFDeinit"));
    // A string with another text, and an object that is not a string.
    CHECK(!strcmp(cfn_toolchain_compare(functions, 1, CFSTR("HTTP/1.")).difference, "has another layout of constant strings"));
    CHECK(cfn_toolchain_compare(functions, 1, (CFStringRef)kCFBooleanTrue).difference != NULL);
    return NULL;
}
