#include "CFNetworkPrograms.h"
#include "Check.h"
#include "Peer.h"
#include <CFNetwork/CFNetwork.h>
#include <stdlib.h>
#include <string.h>

static CFURLRef createURL(CFStringRef text) { return CFURLCreateWithString(NULL, text, NULL); }

static void setNumber(CFMutableDictionaryRef settings, CFStringRef key, int value) {
    CFNumberRef number = CFNumberCreate(NULL, kCFNumberIntType, &value);
    CFDictionarySetValue(settings, key, number);
    CFRelease(number);
}

/// The proxies for a URL.
static CFArrayRef copyProxies(CFStringRef text, CFDictionaryRef settings) {
    CFURLRef url = createURL(text);
    CFArrayRef proxies = CFNetworkCopyProxiesForURL(url, settings);
    CFRelease(url);
    return proxies;
}

/// Whether the proxy at a place of a list has this type, host and port.
static Boolean isProxy(CFArrayRef proxies, CFIndex index, CFStringRef type, CFStringRef host, int port) {
    if (proxies == NULL || CFArrayGetCount(proxies) <= index) return FALSE;
    CFDictionaryRef proxy = CFArrayGetValueAtIndex(proxies, index);
    CFStringRef found = CFDictionaryGetValue(proxy, kCFProxyHostNameKey);
    CFNumberRef number = CFDictionaryGetValue(proxy, kCFProxyPortNumberKey);
    int value = 0;
    if (number != NULL) CFNumberGetValue(number, kCFNumberIntType, &value);
    return CFEqual(CFDictionaryGetValue(proxy, kCFProxyTypeKey), type) && (host == NULL ? found == NULL : found != NULL && CFEqual(found, host)) && value == port;
}

static Boolean isOnly(CFStringRef url, CFDictionaryRef settings, CFStringRef type, CFStringRef host, int port) {
    CFArrayRef proxies = copyProxies(url, settings);
    Boolean is = isProxy(proxies, 0, type, host, port) && CFArrayGetCount(proxies) == 1;
    if (proxies != NULL) CFRelease(proxies);
    return is;
}

// Parity: SK-124, SK-125, SK-126, SK-127, SK-128
const char *CFNetworkProxiesProgram(void) {
    CFMutableDictionaryRef settings = CFDictionaryCreateMutable(NULL, 0, &kCFTypeDictionaryKeyCallBacks, &kCFTypeDictionaryValueCallBacks);
    CFStringRef http = CFSTR("http://www.example.com/"), https = CFSTR("https://www.example.com/"), ftp = CFSTR("ftp://www.example.com/");
    CHECK(isOnly(http, settings, kCFProxyTypeNone, NULL, 0));
    CFDictionarySetValue(settings, kCFNetworkProxiesHTTPProxy, CFSTR("web.example"));
    CFDictionarySetValue(settings, kCFNetworkProxiesHTTPSProxy, CFSTR("tunnel.example"));
    setNumber(settings, kCFNetworkProxiesHTTPSPort, 3128);
    CFDictionarySetValue(settings, kCFNetworkProxiesFTPProxy, CFSTR("files.example"));
    setNumber(settings, kCFNetworkProxiesFTPEnable, 0);
    CHECK(isOnly(http, settings, kCFProxyTypeHTTP, CFSTR("web.example"), 80)); // a missing Enable is on
    CHECK(isOnly(https, settings, kCFProxyTypeHTTPS, CFSTR("tunnel.example"), 3128));
    CHECK(isOnly(ftp, settings, kCFProxyTypeNone, NULL, 0));
    setNumber(settings, kCFNetworkProxiesFTPEnable, 1);
    CHECK(isOnly(ftp, settings, kCFProxyTypeFTP, CFSTR("files.example"), 80));
    CFDictionarySetValue(settings, kCFNetworkProxiesSOCKSProxy, CFSTR("socks.example"));
    CFArrayRef proxies = copyProxies(http, settings);
    CHECK(CFArrayGetCount(proxies) == 2 && isProxy(proxies, 0, kCFProxyTypeHTTP, CFSTR("web.example"), 80));
    CHECK(isProxy(proxies, 1, kCFProxyTypeSOCKS, CFSTR("socks.example"), 1080));
    CFRelease(proxies);

    // Exceptions, and hosts of this machine.
    const void *list[] = {CFSTR("*.inner.example"), CFSTR("10/8")};
    CFArrayRef exceptions = CFArrayCreate(NULL, list, 2, &kCFTypeArrayCallBacks);
    CFDictionarySetValue(settings, kCFNetworkProxiesExceptionsList, exceptions);
    CFRelease(exceptions);
    CHECK(isOnly(CFSTR("http://a.inner.example/"), settings, kCFProxyTypeNone, NULL, 0));
    CHECK(isOnly(CFSTR("http://10.1.2.3/"), settings, kCFProxyTypeNone, NULL, 0));
    CHECK(isOnly(CFSTR("http://localhost/"), settings, kCFProxyTypeNone, NULL, 0) && isOnly(CFSTR("http://[::1]/"), settings, kCFProxyTypeNone, NULL, 0));
    CHECK(!isOnly(CFSTR("http://intranet/"), settings, kCFProxyTypeNone, NULL, 0));
    setNumber(settings, kCFNetworkProxiesExcludeSimpleHostnames, 1);
    CHECK(isOnly(CFSTR("http://intranet/"), settings, kCFProxyTypeNone, NULL, 0));

    // A script decides alone.
    CFDictionarySetValue(settings, kCFNetworkProxiesProxyAutoConfigURLString, CFSTR("http://wpad.example/proxy.pac"));
    proxies = copyProxies(http, settings);
    CHECK(CFArrayGetCount(proxies) == 1 && isProxy(proxies, 0, kCFProxyTypeAutoConfigurationURL, NULL, 0));
    CFURLRef script = CFDictionaryGetValue(CFArrayGetValueAtIndex(proxies, 0), kCFProxyAutoConfigurationURLKey);
    CHECK(script != NULL && CFGetTypeID(script) == CFURLGetTypeID() && CFEqual(CFURLGetString(script), CFSTR("http://wpad.example/proxy.pac")));
    CFRelease(proxies);
    CFDictionarySetValue(settings, kCFNetworkProxiesProxyAutoConfigJavaScript, CFSTR("function"));
    CHECK(isOnly(http, settings, kCFProxyTypeAutoConfigurationJavaScript, NULL, 0));
    setNumber(settings, kCFNetworkProxiesProxyAutoConfigEnable, 0);
    CHECK(!isOnly(http, settings, kCFProxyTypeAutoConfigurationJavaScript, NULL, 0));

    // A setting is honoured or refused.
    setNumber(settings, kCFNetworkProxiesHTTPPort, 70000);
    CHECK(copyProxies(http, settings) == NULL);
    CFRelease(settings);

    // The system's settings can be empty.
    proxies = copyProxies(http, NULL);
    CHECK(proxies != NULL && CFArrayGetCount(proxies) == 1);
    CFRelease(proxies);
    const char *variables[] = {"http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "HTTPS_PROXY", "FTP_PROXY", "ALL_PROXY"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) unsetenv(variables[i]);
    setenv("XDG_CONFIG_HOME", "/nowhere", 1);
    for (int isSet = 0; isSet < 2; isSet++) {
        if (isSet) setenv("http_proxy", "http://web.example:8080", 1);
        CFDictionaryRef system = CFNetworkCopySystemProxySettings();
        CHECK(system != NULL);
        CHECK(isSet ? isOnly(http, system, kCFProxyTypeHTTP, CFSTR("web.example"), 8080) : isOnly(http, system, kCFProxyTypeNone, NULL, 0));
        CFURLRef url = createURL(http), files = createURL(ftp);
        CFHTTPMessageRef request = CFHTTPMessageCreateRequest(NULL, CFSTR("GET"), url, kCFHTTPVersion1_1);
        CFReadStreamRef load = CFReadStreamCreateForHTTPRequest(NULL, request), transfer = CFReadStreamCreateWithFTPURL(NULL, files);
        CHECK(CFReadStreamSetProperty(load, kCFStreamPropertyHTTPProxy, system) && CFReadStreamSetProperty(transfer, kCFStreamPropertyFTPProxy, system));
        CFRelease(transfer);
        CFRelease(load);
        CFRelease(request);
        CFRelease(files);
        CFRelease(url);
        CFRelease(system);
    }
    return NULL;
}

struct Client {
    int retains, releases, calls;
    CFIndex count, code;
    Boolean isOurs;
};

static void *retainClient(void *info) { ((struct Client *)info)->retains++; return info; }
static void releaseClient(void *info) { ((struct Client *)info)->releases++; }

static void ended(void *info, CFArrayRef proxies, CFErrorRef error) {
    struct Client *client = info;
    client->calls++;
    client->count = CFArrayGetCount(proxies);
    client->code = error == NULL ? 0 : CFErrorGetCode(error);
    client->isOurs = error != NULL && CFEqual(CFErrorGetDomain(error), kCFErrorDomainCFNetwork);
    CFRunLoopStop(CFRunLoopGetCurrent());
}

static void serve(struct Peer *peer, int connection) {
    char line[1024];
    while (PeerReadLine(connection, line, sizeof line) > 0) continue;
    PeerSend(connection, "HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n");
}

// Parity: SK-129, SK-130, SK-131
const char *CFNetworkScriptsProgram(void) {
    CFURLRef url = createURL(CFSTR("http://www.example.com/"));
    CFStringRef script = CFSTR("function FindProxyForURL(url, host) { return 'PROXY a.example:1; DIRECT'; }");
    CFErrorRef error = NULL;
    // A machine without an engine reports the error of a script that cannot be run.
    CFArrayRef proxies = CFNetworkCopyProxiesForAutoConfigurationScript(script, url, &error);
    Boolean canRun = proxies != NULL;
    CHECK(canRun == (error == NULL));
    if (canRun) {
        CHECK(CFArrayGetCount(proxies) == 2 && isProxy(proxies, 0, kCFProxyTypeHTTP, CFSTR("a.example"), 1) && isProxy(proxies, 1, kCFProxyTypeNone, NULL, 0));
        CFRelease(proxies);
    } else {
        CHECK(CFEqual(CFErrorGetDomain(error), kCFErrorDomainCFNetwork) && CFErrorGetCode(error) == kCFErrorPACFileError);
        CFRelease(error);
    }
    CHECK(CFNetworkCopyProxiesForAutoConfigurationScript(CFSTR("no script"), url, NULL) == NULL);

    // As a source: one call on the run loop, after which the source is invalid.
    struct Client client = {0};
    CFStreamClientContext context = {0, &client, retainClient, releaseClient, NULL};
    CFRunLoopSourceRef source = CFNetworkExecuteProxyAutoConfigurationScript(script, url, ended, &context);
    CHECK(source != NULL && client.retains == 1 && client.calls == 0);
    CFRunLoopAddSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode);
    CHECK(CFRunLoopRunInMode(kCFRunLoopDefaultMode, 20, FALSE) == kCFRunLoopRunStopped && client.calls == 1);
    CHECK(canRun ? client.count == 2 && client.code == 0 : client.count == 0 && client.code == kCFErrorPACFileError && client.isOurs);
    CHECK(!CFRunLoopSourceIsValid(source) && !CFRunLoopContainsSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode));
    CHECK(client.retains == 1 && client.releases == 1);
    CFRelease(source);

    // A script that needs a login.
    struct Peer peer;
    CHECK(PeerStart(&peer, serve) == 0);
    CFStringRef text = CFStringCreateWithFormat(NULL, NULL, CFSTR("http://127.0.0.1:%d/proxy.pac"), peer.port);
    CFURLRef location = createURL(text);
    source = CFNetworkExecuteProxyAutoConfigurationURL(location, url, ended, &context);
    CFRunLoopAddSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode);
    CHECK(CFRunLoopRunInMode(kCFRunLoopDefaultMode, 20, FALSE) == kCFRunLoopRunStopped && client.calls == 2);
    CHECK(client.code == kCFErrorPACFileAuth && client.isOurs && client.count == 0);
    CFRelease(source);
    PeerStop(&peer);

    // Invalidated before the end, and never scheduled.
    source = CFNetworkExecuteProxyAutoConfigurationURL(location, url, ended, &context);
    CFRunLoopAddSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode);
    CFRunLoopSourceInvalidate(source);
    CFRelease(source);
    source = CFNetworkExecuteProxyAutoConfigurationScript(script, url, ended, &context);
    CFRelease(source);
    CHECK(CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, TRUE) == kCFRunLoopRunFinished && client.calls == 2);
    CHECK(client.retains == 4 && client.releases == 4);
    CFRelease(location);
    CFRelease(text);
    CFRelease(url);
    return NULL;
}
