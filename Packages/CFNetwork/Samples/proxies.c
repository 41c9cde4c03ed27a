// Prints the proxies for a URL that a script names, from its text and from its URL.
//
//   cc proxies.c $(pkg-config --cflags --libs CFNetwork) && ./a.out http://example.org/ [URL of the script]

#include <CFNetwork/CFNetwork.h>
#include <stdio.h>
#include <string.h>

static void print(CFArrayRef proxies) {
    for (CFIndex index = 0; proxies && index < CFArrayGetCount(proxies); index++) {
        CFDictionaryRef proxy = (CFDictionaryRef)CFArrayGetValueAtIndex(proxies, index);
        CFStringRef type = (CFStringRef)CFDictionaryGetValue(proxy, kCFProxyTypeKey), host = (CFStringRef)CFDictionaryGetValue(proxy, kCFProxyHostNameKey);
        char text[2][128] = {"", ""};
        CFStringGetCString(type, text[0], sizeof text[0], kCFStringEncodingUTF8);
        if (host) CFStringGetCString(host, text[1], sizeof text[1], kCFStringEncodingUTF8);
        printf("%s %s\n", text[0], text[1]);
    }
}

static void found(void *client, CFArrayRef proxies, CFErrorRef error) {
    if (error) printf("error %ld\n", (long)CFErrorGetCode(error));
    print(proxies);
    CFRunLoopStop(CFRunLoopGetCurrent());
}

static CFURLRef createURL(const char *text) { return CFURLCreateWithBytes(NULL, (const UInt8 *)text, (CFIndex)strlen(text), kCFStringEncodingUTF8, NULL); }

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    CFURLRef target = createURL(argv[1]);
    CFErrorRef error = NULL;
    CFArrayRef proxies = CFNetworkCopyProxiesForAutoConfigurationScript(
        CFSTR("function FindProxyForURL(url, host) { return 'PROXY ' + host + ':8080; DIRECT'; }"), target, &error);
    if (error) {
        CFShow(error);
        CFRelease(error);
    }
    print(proxies);
    if (proxies) CFRelease(proxies);
    if (argc > 2) {
        CFURLRef script = createURL(argv[2]);
        CFStreamClientContext context = {0, NULL, NULL, NULL, NULL};
        CFRunLoopSourceRef source = CFNetworkExecuteProxyAutoConfigurationURL(script, target, found, &context);
        CFRunLoopAddSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode);
        CFRunLoopRun();
        CFRelease(source);
        CFRelease(script);
    }
    CFRelease(target);
    return 0;
}
