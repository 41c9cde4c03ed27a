// Credentials in a keychain (chapter 4), which is a file of its own. The server checks what was stored.
// run: apache $PEER_URL/digest/hello
// prints: absent -25300\nalice logs in: 401\nalice logs in: 200
#include "Listings.h"
#include <Security/Security.h>
#include <unistd.h>

#ifndef _GNU_SOURCE
// With -std=c11, the C library hides them.
extern char *mkdtemp(char *path);
extern int setenv(const char *name, const char *value, int replaces);
#endif

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
    char folder[] = "/tmp/listings-XXXXXX", command[64];
    setenv("XDG_DATA_HOME", mkdtemp(folder), 1);
    setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent", 1);
    search();
    printf("absent %d\n", (int)didFind);
    store("alice", "wrong");
    search();
    load();
    logIn(argv[1]);
    search(); // listing 4-8 has released the item
    modify("alice", "open sesame");
    search();
    load();
    logIn(argv[1]);
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}
