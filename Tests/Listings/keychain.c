// Credentials in a keychain (chapter 4), on a stand-in for Apple's Security framework. The server checks what was stored.
// run: apache $PEER_URL/digest/hello
// prints: absent -25300\nalice logs in: 401\nalice logs in: 200
#include "Listings.h"
#include <Security/Security.h>

static CFMutableDictionaryRef credentials;
static SecKeychainItemRef itemRef;
static const char *host = "localhost", *realm = "peers", *path = "/digest/";
static const UInt16 port = 80;
static const SecProtocolType protocolType = kSecProtocolTypeHTTP;
static const SecAuthenticationType authenticationType = kSecAuthenticationTypeHTTPDigest;
static OSStatus didFind;

static void search(void) {
#include "listing 4-7"
}

static void load(void) {
#include "listing 4-8"
}

static void modify(const char *username, const char *password) {
    SecKeychainAttribute attr;
    SecKeychainAttributeList attrList = {1, &attr};
#include "listing 4-9"
}

static void store(const char *username, const char *password) {
#include "listing 4-10"
}

static long send(CFHTTPMessageRef request, CFHTTPMessageRef *response) {
    CFReadStreamRef stream = CFReadStreamCreateForHTTPRequest(NULL, request);
    CFReadStreamOpen(stream);
    UInt8 bytes[BUFSIZE];
    while (CFReadStreamRead(stream, bytes, sizeof bytes) > 0) {}
    *response = (CFHTTPMessageRef)CFReadStreamCopyProperty(stream, kCFStreamPropertyHTTPResponseHeader);
    CFReadStreamClose(stream);
    CFRelease(stream);
    return CFHTTPMessageGetResponseStatusCode(*response);
}

static void logIn(const char *string) {
    CFURLRef url = address(string);
    CFHTTPMessageRef request = CFHTTPMessageCreateRequest(NULL, CFSTR("GET"), url, kCFHTTPVersion1_1), response;
    send(request, &response);
    CFHTTPAuthenticationRef authentication = CFHTTPAuthenticationCreateFromResponse(NULL, response);
    CFRelease(response);
    CFHTTPMessageApplyCredentialDictionary(request, authentication, credentials, NULL);
    long status = send(request, &response);
    printf("%s logs in: %ld\n", cString((CFStringRef)CFDictionaryGetValue(credentials, kCFHTTPAuthenticationUsername)), status);
    CFRelease(authentication);
    CFRelease(response);
    CFRelease(request);
    CFRelease(url);
}

int main(int argc, char **argv) {
    search();
    printf("absent %d\n", (int)didFind);
    store("alice", "wrong");
    search();
    load();
    logIn(argv[1]);
    modify("alice", "open sesame");
    search();
    load();
    logIn(argv[1]);
    return 0;
}
