#include "CFNetworkPrograms.h"
#include "Check.h"
#include "Peer.h"
#include <CFNetwork/CFNetwork.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

extern unsigned char *MD5(const unsigned char *bytes, size_t count, unsigned char *digest); // libcrypto

static void md5(char *hexadecimal, const char *text) {
    unsigned char digest[16];
    MD5((const unsigned char *)text, strlen(text), digest);
    for (int i = 0; i < 16; i++) snprintf(hexadecimal + 2 * i, 3, "%02x", digest[i]);
}

/// The value of a parameter of Digest's credentials.
static void parameter(char *value, size_t size, const char *credentials, const char *name) {
    char pattern[32];
    snprintf(pattern, sizeof pattern, "%s=", name);
    const char *found = credentials;
    while ((found = strstr(found, pattern)) != NULL && found[-1] != ' ' && found[-1] != ',') found++;
    value[0] = 0;
    if (found == NULL) return;
    found += strlen(pattern);
    if (*found == '"') found++;
    size_t count = strcspn(found, "\",");
    snprintf(value, size, "%.*s", (int)count, found);
}

/// Whether the credentials are those of joe with the password secret, for the realm staff (RFC 7616).
static Boolean isDigest(const char *credentials, const char *method, const char *nonce) {
    char uri[128], sent[64], count[16], client[128], response[64], text[512], first[33], second[33], expected[33];
    if (strncmp(credentials, "Digest ", 7)) return FALSE;
    parameter(uri, sizeof uri, credentials, "uri");
    parameter(sent, sizeof sent, credentials, "nonce");
    parameter(count, sizeof count, credentials, "nc");
    parameter(client, sizeof client, credentials, "cnonce");
    parameter(response, sizeof response, credentials, "response");
    md5(first, "joe:staff:secret");
    snprintf(text, sizeof text, "%s:%s", method, uri);
    md5(second, text);
    snprintf(text, sizeof text, "%s:%s:%s:%s:auth:%s", first, nonce, count, client, second);
    md5(expected, text);
    return !strcmp(sent, nonce) && !strcmp(response, expected);
}

static const char *ntlmChallenge =
    "TlRMTVNTUAACAAAABgAGADgAAAAFgomiASNFZ4mrze8AAAAAAAAAACQAJAA+AAAABgGxHQAAAA9EAE8ATQACAAYARABPAE0AAQAGAFMAUgBWAAcACAAAAFr2TPXUAQAAAAA=";

/// Serves one connection. `seen` begins with the number of Digest's current nonce.
static void serve(struct Peer *peer, int connection) {
    char line[1024], path[256], credentials[2048], proxyCredentials[512], challenge[512], nonce[16];
    int ntlmLeg = 0;
    while (PeerReadLine(connection, path, sizeof path) > 0) {
        credentials[0] = proxyCredentials[0] = challenge[0] = 0;
        while (PeerReadLine(connection, line, sizeof line) > 0) {
            if (!strncasecmp(line, "authorization: ", 15)) snprintf(credentials, sizeof credentials, "%.1000s", line + 15);
            if (!strncasecmp(line, "proxy-authorization: ", 21)) snprintf(proxyCredentials, sizeof proxyCredentials, "%.500s", line + 21);
        }
        const char *target = strchr(path, ' ') + 1;
        int status = 401;
        if (!strncmp(target, "http:", 5) && strcmp(proxyCredentials, "Basic am9lOnNlY3JldA==")) {
            status = 407;
            snprintf(challenge, sizeof challenge, "Proxy-Authenticate: Basic realm=\"gate\"\r\n");
        } else if (!strncmp(target, "/basic", 6)) {
            if (!strcmp(credentials, "Basic am9lOnNlY3JldA==")) status = 200;
            snprintf(challenge, sizeof challenge, "WWW-Authenticate: Basic realm=\"files\"\r\n");
        } else if (!strncmp(target, "/digest", 7)) {
            snprintf(nonce, sizeof nonce, "n%d", peer->seen[0]);
            Boolean isStale = FALSE;
            if (isDigest(credentials, "GET", nonce)) status = strstr(target, "expired") != NULL && peer->seen[0] == 0 ? 401 : 200;
            if (status == 401 && credentials[0] && isDigest(credentials, "GET", nonce)) {
                snprintf(nonce, sizeof nonce, "n%d", ++peer->seen[0]);
                isStale = TRUE;
            }
            snprintf(challenge, sizeof challenge,
                "WWW-Authenticate: Basic realm=\"weak\", Digest realm=\"staff\", nonce=\"%s\", qop=\"auth\", domain=\"/digest /more http://other.example/\"%s\r\n",
                nonce, isStale ? ", stale=true" : "");
        } else if (!strncmp(target, "/ntlm", 5)) {
            if (ntlmLeg == 1 && !strncmp(credentials, "NTLM TlRMTVNTUAAD", 17)) status = 200;
            ntlmLeg = !strncmp(credentials, "NTLM TlRMTVNTUAAB", 17);
            snprintf(challenge, sizeof challenge, "WWW-Authenticate: NTLM%s%s\r\n", ntlmLeg ? " " : "", ntlmLeg ? ntlmChallenge : "");
        } else if (!strncmp(target, "/unknown", 8)) {
            snprintf(challenge, sizeof challenge, "WWW-Authenticate: Riddle realm=\"sphinx\"\r\n");
        } else if (strncmp(target, "/silent", 7)) {
            status = 200;
        }
        snprintf(line, sizeof line, "HTTP/1.1 %d X\r\n%sContent-Length: 2\r\n\r\nok", status, status == 200 ? "" : challenge);
        PeerSend(connection, line);
    }
}

static CFHTTPMessageRef createRequest(int port, const char *path) {
    CFStringRef text = CFStringCreateWithFormat(NULL, NULL, CFSTR("http://127.0.0.1:%d%s"), port, path);
    CFURLRef url = CFURLCreateWithString(NULL, text, NULL);
    CFHTTPMessageRef request = CFHTTPMessageCreateRequest(NULL, CFSTR("GET"), url, kCFHTTPVersion1_1);
    CFRelease(url);
    CFRelease(text);
    return request;
}

static struct Peer peer;

/// Sends a request and reads the response to its end. Keeps the stream, which the caller releases.
static CFReadStreamRef createLoad(CFHTTPMessageRef request) {
    CFReadStreamRef stream = CFReadStreamCreateForHTTPRequest(NULL, request);
    UInt8 bytes[64];
    CFReadStreamOpen(stream);
    while (CFReadStreamRead(stream, bytes, sizeof bytes) > 0) continue;
    return stream;
}

/// The response to a request, with credentials if there is an object; NULL if they cannot be applied.
static CFHTTPMessageRef createResponse(const char *path, CFHTTPAuthenticationRef auth, CFStringRef password) {
    CFHTTPMessageRef request = createRequest(peer.port, path);
    if (auth != NULL && !CFHTTPMessageApplyCredentials(request, auth, CFSTR("joe"), password, NULL)) {
        CFRelease(request);
        return NULL;
    }
    CFReadStreamRef stream = createLoad(request);
    CFHTTPMessageRef response = (CFHTTPMessageRef)CFReadStreamCopyProperty(stream, kCFStreamPropertyHTTPResponseHeader);
    CFRelease(stream);
    CFRelease(request);
    return response;
}

/// The status of the response; releases it. -1 for NULL.
static CFIndex status(CFHTTPMessageRef response) {
    if (response == NULL) return -1;
    CFIndex status = CFHTTPMessageGetResponseStatusCode(response);
    CFRelease(response);
    return status;
}

/// An object from the response to a request without credentials.
static CFHTTPAuthenticationRef createAuthentication(const char *path) {
    CFHTTPMessageRef response = createResponse(path, NULL, NULL);
    CFHTTPAuthenticationRef auth = CFHTTPAuthenticationCreateFromResponse(NULL, response);
    CFRelease(response);
    return auth;
}

static Boolean isText(CFStringRef string, CFStringRef expected) {
    if (string == NULL) return FALSE;
    Boolean isSame = CFEqual(string, expected);
    CFRelease(string);
    return isSame;
}

static Boolean applies(CFHTTPAuthenticationRef auth, int port, const char *path) {
    CFHTTPMessageRef request = createRequest(port, path);
    Boolean applies = CFHTTPAuthenticationAppliesToRequest(auth, request);
    CFRelease(request);
    return applies;
}

/// Whether the object is invalid for this reason.
static Boolean isInvalid(CFHTTPAuthenticationRef auth, SInt32 code) {
    CFStreamError error = {0, 0};
    return !CFHTTPAuthenticationIsValid(auth, &error) && error.domain == kCFStreamErrorDomainHTTP && error.error == code;
}

static const char *basic(void) {
    CFHTTPAuthenticationRef auth = createAuthentication("/basic/a");
    CFStreamError error = {-5, -5};
    CHECK(auth != NULL && CFHTTPAuthenticationIsValid(auth, &error) && CFHTTPAuthenticationIsValid(auth, NULL) && error.domain == -5);
    CHECK(isText(CFHTTPAuthenticationCopyMethod(auth), kCFHTTPAuthenticationSchemeBasic));
    CHECK(isText(CFHTTPAuthenticationCopyRealm(auth), CFSTR("files")));
    CHECK(CFHTTPAuthenticationRequiresUserNameAndPassword(auth) && !CFHTTPAuthenticationRequiresAccountDomain(auth));
    CHECK(!CFHTTPAuthenticationRequiresOrderedRequests(auth));
    CFArrayRef domains = CFHTTPAuthenticationCopyDomains(auth);
    CHECK(CFArrayGetCount(domains) == 1 && CFStringHasSuffix(CFURLGetString(CFArrayGetValueAtIndex(domains, 0)), CFSTR("/basic/")));
    CFRelease(domains);
    CHECK(applies(auth, peer.port, "/basic/b/c") && !applies(auth, peer.port, "/other") && !applies(auth, peer.port ^ 1, "/basic/a"));

    // As an object of CoreFoundation.
    CHECK(CFGetTypeID(auth) == CFHTTPAuthenticationGetTypeID() && CFEqual(auth, auth) && CFHash(auth) == CFHash(auth));
    CFHTTPAuthenticationRef other = createAuthentication("/basic/a");
    CHECK(!CFEqual(auth, other));
    const void *both[] = {auth, other};
    CFArrayRef list = CFArrayCreate(NULL, both, 2, &kCFTypeArrayCallBacks);
    CHECK(CFArrayGetFirstIndexOfValue(list, CFRangeMake(0, 2), other) == 1);
    CFRelease(list);
    CFRelease(other);
    CFStringRef description = CFCopyDescription(auth);
    CHECK(CFStringHasPrefix(description, CFSTR("<CFHTTPAuthentication 0x")) && CFStringHasSuffix(description, CFSTR("{Basic, \"files\", valid}")));
    CFRelease(description);

    // A wrong password: the object is invalid when the response has arrived, although the program has not copied the response.
    CFHTTPMessageRef request = createRequest(peer.port, "/basic/a");
    CHECK(CFHTTPMessageApplyCredentials(request, auth, CFSTR("joe"), CFSTR("wrong"), NULL));
    CFReadStreamRef stream = createLoad(request);
    CFRelease(request);
    CHECK(isInvalid(auth, kCFStreamErrorHTTPAuthenticationBadUserName));
    CFHTTPMessageRef response = (CFHTTPMessageRef)CFReadStreamCopyProperty(stream, kCFStreamPropertyHTTPResponseHeader);
    CFRelease(stream);
    CFHTTPAuthenticationRef same = CFHTTPAuthenticationCreateFromResponse(NULL, response);
    CHECK(same == auth); // The response is about this object.
    CFRelease(same);
    CHECK(createResponse("/basic/a", auth, CFSTR("secret")) == NULL);
    CHECK(isText(CFHTTPAuthenticationCopyRealm(auth), CFSTR("files")));
    CFRelease(auth);
    auth = CFHTTPAuthenticationCreateFromResponse(NULL, response);
    CHECK(auth != same && CFHTTPAuthenticationIsValid(auth, NULL));
    CFRelease(response);
    CHECK(status(createResponse("/basic/a", auth, CFSTR("secret"))) == 200);
    CHECK(status(createResponse("/basic/b", auth, CFSTR("secret"))) == 200 && CFHTTPAuthenticationIsValid(auth, NULL));

    // What is missing, by both functions.
    request = createRequest(peer.port, "/basic/a");
    CHECK(!CFHTTPMessageApplyCredentials(request, auth, CFSTR("joe"), NULL, &error));
    CHECK(error.domain == kCFStreamErrorDomainHTTP && error.error == kCFStreamErrorHTTPAuthenticationBadPassword);
    CHECK(isInvalid(auth, kCFStreamErrorHTTPAuthenticationBadPassword));
    CHECK(CFHTTPMessageCopyHeaderFieldValue(request, CFSTR("Authorization")) == NULL);
    CFRelease(auth);
    auth = createAuthentication("/basic/a");
    const void *keys[] = {kCFHTTPAuthenticationPassword, kCFHTTPAuthenticationUsername}, *values[] = {CFSTR("secret"), CFSTR("joe")};
    for (CFIndex count = 1; count < 3; count++) {
        CFDictionaryRef credentials = CFDictionaryCreate(NULL, keys, values, count, &kCFTypeDictionaryKeyCallBacks, &kCFTypeDictionaryValueCallBacks);
        CHECK(CFHTTPMessageApplyCredentialDictionary(request, auth, credentials, &error) == (count == 2));
        CFRelease(credentials);
        if (count == 2) break;
        CHECK(error.error == kCFStreamErrorHTTPAuthenticationBadUserName && isInvalid(auth, error.error));
        CFRelease(auth);
        auth = createAuthentication("/basic/a");
    }
    CHECK(isText(CFHTTPMessageCopyHeaderFieldValue(request, CFSTR("Authorization")), CFSTR("Basic am9lOnNlY3JldA==")));
    CFRelease(request);

    // Another server's request, and a message that is no request.
    request = createRequest(peer.port ^ 1, "/basic/a");
    CHECK(!CFHTTPMessageApplyCredentials(request, auth, CFSTR("joe"), CFSTR("secret"), &error));
    CHECK(CFHTTPMessageCopyHeaderFieldValue(request, CFSTR("Authorization")) == NULL && CFHTTPAuthenticationIsValid(auth, NULL));
    CFRelease(request);
    response = CFHTTPMessageCreateResponse(NULL, 200, NULL, kCFHTTPVersion1_1);
    CHECK(!CFHTTPMessageApplyCredentials(response, auth, CFSTR("joe"), CFSTR("secret"), &error));
    CHECK(error.domain == kCFStreamErrorDomainPOSIX && error.error == 22);
    CHECK(CFHTTPAuthenticationCreateFromResponse(NULL, response) == NULL);
    CFRelease(response);
    CFRelease(auth);
    return NULL;
}

static const char *digest(void) {
    CFHTTPAuthenticationRef auth = createAuthentication("/digest/a");
    CHECK(isText(CFHTTPAuthenticationCopyMethod(auth), kCFHTTPAuthenticationSchemeDigest));
    CHECK(isText(CFHTTPAuthenticationCopyRealm(auth), CFSTR("staff")));
    CHECK(CFHTTPAuthenticationRequiresOrderedRequests(auth));
    CFArrayRef domains = CFHTTPAuthenticationCopyDomains(auth);
    CHECK(CFArrayGetCount(domains) == 2 && CFGetTypeID(CFArrayGetValueAtIndex(domains, 1)) == CFURLGetTypeID());
    CFRelease(domains);
    CHECK(applies(auth, peer.port, "/more/b") && !applies(auth, peer.port, "/basic"));
    CHECK(status(createResponse("/digest/a", auth, CFSTR("secret"))) == 200);
    CHECK(status(createResponse("/digest/b?c", auth, CFSTR("secret"))) == 200);
    // The server replaces its nonce: the same object applies the credentials again.
    CFHTTPMessageRef response = createResponse("/digest/expired", auth, CFSTR("secret"));
    CHECK(CFHTTPMessageGetResponseStatusCode(response) == 401 && CFHTTPAuthenticationIsValid(auth, NULL));
    CFHTTPAuthenticationRef same = CFHTTPAuthenticationCreateFromResponse(NULL, response);
    CHECK(same == auth);
    CFRelease(same);
    CFRelease(response);
    CHECK(status(createResponse("/digest/expired", auth, CFSTR("secret"))) == 200);
    // Credentials that were accepted before get a second attempt, since some servers drop a nonce without saying so.
    CHECK(status(createResponse("/digest/a", auth, CFSTR("wrong"))) == 401 && CFHTTPAuthenticationIsValid(auth, NULL));
    CHECK(status(createResponse("/digest/a", auth, CFSTR("wrong"))) == 401);
    CHECK(isInvalid(auth, kCFStreamErrorHTTPAuthenticationBadUserName));
    CFRelease(auth);
    return NULL;
}

static const char *unusable(void) {
    CFHTTPAuthenticationRef auth = createAuthentication("/silent");
    CHECK(auth != NULL && isInvalid(auth, kCFStreamErrorHTTPParseFailure) && CFHTTPAuthenticationCopyMethod(auth) == NULL);
    CHECK(isText(CFHTTPAuthenticationCopyRealm(auth), CFSTR("127.0.0.1")));
    CFRelease(auth);
    auth = createAuthentication("/unknown");
    CHECK(isInvalid(auth, kCFStreamErrorHTTPAuthenticationTypeUnsupported));
    CHECK(isText(CFHTTPAuthenticationCopyMethod(auth), CFSTR("Riddle")) && isText(CFHTTPAuthenticationCopyRealm(auth), CFSTR("sphinx")));
    CHECK(createResponse("/unknown", auth, CFSTR("secret")) == NULL);
    CFRelease(auth);
    return NULL;
}

/// NTLM authenticates a connection: all legs use one.
static const char *ntlm(void) {
    CFHTTPAuthenticationRef auth = createAuthentication("/ntlm");
    CHECK(isText(CFHTTPAuthenticationCopyMethod(auth), kCFHTTPAuthenticationSchemeNTLM));
    CHECK(CFHTTPAuthenticationRequiresAccountDomain(auth) && CFHTTPAuthenticationRequiresOrderedRequests(auth));
    CFHTTPMessageRef response = createResponse("/ntlm", auth, CFSTR("secret"));
    CHECK(CFHTTPMessageGetResponseStatusCode(response) == 401 && CFHTTPAuthenticationIsValid(auth, NULL));
    CFHTTPAuthenticationRef same = CFHTTPAuthenticationCreateFromResponse(NULL, response);
    CHECK(same == auth);
    CFRelease(same);
    CFRelease(response);
    CHECK(status(createResponse("/ntlm", auth, CFSTR("secret"))) == 200 && CFHTTPAuthenticationIsValid(auth, NULL));
    CFRelease(auth);
    return NULL;
}

/// A proxy and the server behind it ask for credentials; one request has both.
static const char *proxy(void) {
    int number = peer.port;
    CFNumberRef port = CFNumberCreate(NULL, kCFNumberIntType, &number);
    const void *keys[] = {kCFStreamPropertyHTTPProxyHost, kCFStreamPropertyHTTPProxyPort}, *values[] = {CFSTR("127.0.0.1"), port};
    CFDictionaryRef settings = CFDictionaryCreate(NULL, keys, values, 2, &kCFTypeDictionaryKeyCallBacks, &kCFTypeDictionaryValueCallBacks);
    CFURLRef url = CFURLCreateWithString(NULL, CFSTR("http://origin.example/a"), NULL);
    CFHTTPMessageRef request = CFHTTPMessageCreateRequest(NULL, CFSTR("GET"), url, kCFHTTPVersion1_1);
    CFHTTPAuthenticationRef auth = NULL;
    for (int round = 0; round < 2; round++) {
        CFReadStreamRef stream = CFReadStreamCreateForHTTPRequest(NULL, request);
        CHECK(CFReadStreamSetProperty(stream, kCFStreamPropertyHTTPProxy, settings) && CFReadStreamOpen(stream));
        UInt8 bytes[64];
        while (CFReadStreamRead(stream, bytes, sizeof bytes) > 0) continue;
        CFHTTPMessageRef response = (CFHTTPMessageRef)CFReadStreamCopyProperty(stream, kCFStreamPropertyHTTPResponseHeader);
        CHECK(CFHTTPMessageGetResponseStatusCode(response) == (round == 0 ? 407 : 200));
        CFRelease(stream);
        if (round == 0) {
            auth = CFHTTPAuthenticationCreateFromResponse(NULL, response);
            CHECK(CFHTTPAuthenticationIsValid(auth, NULL) && isText(CFHTTPAuthenticationCopyRealm(auth), CFSTR("gate")));
            CHECK(applies(auth, 1, "/anything"));
            CFArrayRef domains = CFHTTPAuthenticationCopyDomains(auth);
            CHECK(CFArrayGetCount(domains) == 0);
            CFRelease(domains);
            CHECK(CFHTTPMessageApplyCredentials(request, auth, CFSTR("joe"), CFSTR("secret"), NULL));
            CHECK(isText(CFHTTPMessageCopyHeaderFieldValue(request, CFSTR("Proxy-Authorization")), CFSTR("Basic am9lOnNlY3JldA==")));
        }
        CFRelease(response);
    }
    CHECK(CFHTTPAuthenticationIsValid(auth, NULL));
    CFRelease(auth);
    CFRelease(request);
    CFRelease(url);
    CFRelease(settings);
    CFRelease(port);
    return NULL;
}

// Parity: HA-001, HA-003, HA-004, HA-005, HA-006, HA-007, HA-008, HA-009, HA-010, HA-011, HA-012, HA-021, HA-022, HA-023
// Parity: HA-024, HA-035, HA-037, HA-038, HA-045, HM-068
const char *CFNetworkAuthenticationProgram(void) {
    int before = openSockets();
    CHECK(PeerStart(&peer, serve) == 0);
    const char *(*parts[])(void) = {basic, digest, unusable, ntlm, proxy};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const char *failure = parts[i]();
        if (failure != NULL) return failure;
    }
    PeerStop(&peer);
    CHECK(openSockets() == before);
    return NULL;
}
