// Logins with a prompt, and with objects and credentials kept in memory (chapter 4).
// run: apache $PEER_URL/basic/hello
// prints: 401\nasks for Basic in peers\n200\nkept\n401\nfound\n200
// run: apache $PEER_URL/digest/hello
// prints: 401\nasks for Digest in peers\n200\nkept\n401\nfound\n200
// run: apache $PEER_URL/basic/hello wrong
// prints: 401\nasks for Basic in peers\n401\nbad name or password
#include "Listings.h"

static CFHTTPMessageRef request;
static CFReadStreamRef readStream;
static CFHTTPAuthenticationRef authentication;
static CFMutableDictionaryRef credentials;
static CFMutableArrayRef authArray;
static CFMutableDictionaryRef credentialsDict;
static const char *password = "open sesame";
static long status;

static void loadRequest(void) {
    readStream = CFReadStreamCreateForHTTPRequest(NULL, request);
    CFReadStreamSetProperty(readStream, kCFStreamPropertyHTTPAttemptPersistentConnection, kCFBooleanTrue);
    CFReadStreamOpen(readStream);
    UInt8 bytes[BUFSIZE];
    while (CFReadStreamRead(readStream, bytes, sizeof bytes) > 0) {}
    CFHTTPMessageRef response = (CFHTTPMessageRef)CFReadStreamCopyProperty(readStream, kCFStreamPropertyHTTPResponseHeader);
    status = response ? CFHTTPMessageGetResponseStatusCode(response) : 0;
    if (response) CFRelease(response);
    printf("%ld\n", status);
}

static void cancelLoad(void) {
    CFReadStreamClose(readStream);
    CFRelease(readStream);
    readStream = NULL;
}

// The listings call this function with an error and without.
#define errorOccurredLoadingImage(...) failed()
static void failed(void) {
    puts("failed");
    exit(1);
}

static void retryAuthorizationFailure(CFHTTPAuthenticationRef *object) {
    puts("bad name or password");
    exit(0);
}

// The prompt of listing 4-3.
static CFStringRef user, pass, domain;
static void prompt(CFStringRef realm) {
    CFStringRef method = CFHTTPAuthenticationCopyMethod(authentication);
    printf("asks for %s in ", cString(method));
    puts(cString(realm));
    user = CFSTR("alice");
    pass = text(password);
    credentials = CFDictionaryCreateMutable(NULL, 0, &kCFTypeDictionaryKeyCallBacks, &kCFTypeDictionaryValueCallBacks);
}

#include "listing 4-4"
#include "listing 4-5"

static void authenticate(void) {
#include "listing 4-1"
#include "listing 4-2"
#include "listing 4-3"
}

int main(int argc, char **argv) {
    CFURLRef url = address(argv[1]);
    if (argc > 2) password = argv[2];
    request = CFHTTPMessageCreateRequest(NULL, CFSTR("GET"), url, kCFHTTPVersion1_1);
    loadRequest();
    // The first round asks the user; the second applies the answer, or finds out that it was wrong.
    authenticate();
    resumeWithCredentials();
    if (status == 401) authenticate();

    // The next request finds them in memory.
    authArray = CFArrayCreateMutable(NULL, 0, &kCFTypeArrayCallBacks);
    credentialsDict = CFDictionaryCreateMutable(NULL, 0, &kCFTypeDictionaryKeyCallBacks, &kCFTypeDictionaryValueCallBacks);
    CFArrayAppendValue(authArray, authentication);
    CFDictionarySetValue(credentialsDict, authentication, credentials);
    CFRelease(credentials);
    CFRelease(request);
    request = CFHTTPMessageCreateRequest(NULL, CFSTR("GET"), url, kCFHTTPVersion1_1);
    puts("kept");
    loadRequest();
    authentication = findAuthenticationForRequest();
    if (authentication) puts("found");
#include "listing 4-6"
    resumeWithCredentials();
    return 0;
}
