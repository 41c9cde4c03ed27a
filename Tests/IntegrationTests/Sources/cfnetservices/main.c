// The program that tests run inside network namespaces: the functions of CFNetServices on the default engine, reported in lines.
//
//   cfnetservices register NAME TYPE PORT [norename]   blocks: returned TRUE-OR-FALSE NUMBER DOMAIN
//   cfnetservices register-async NAME TYPE PORT        started; event NUMBER NAME
//   cfnetservices resolve NAME TYPE DOMAIN SECONDS     blocks: returned …; then HOST PORT COUNT-OF-ADDRESSES
//   cfnetservices browse TYPE DOMAIN                   blocks: + NAME FLAGS; - NAME FLAGS; returned …
//   cfnetservices browse-async TYPE DOMAIN             started; the same on a run loop; event NUMBER DOMAIN
//   cfnetservices domains registration|browsing        blocks: domain NAME FLAGS; returned …
//   cfnetservices domains-async registration|browsing  the same on a run loop
//   cfnetservices invalid TYPE                         uses a browser after its end
//
// A line of the standard input ends a running operation from another thread: cancel, stop, stop NUMBER, invalidate, again. The last
// one starts a second operation on the same object. The first ones are repeated for as long as a call blocks, which may not have begun.

#include <CFNetwork/CFNetwork.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static CFNetServiceRef service;
static CFNetServiceBrowserRef browser;
static CFStringRef type;
// Whether the main thread is in a call that blocks.
static atomic_bool isBlocked;

static void say(const char *format, ...) {
    char line[2000];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line - 1, format, arguments);
    va_end(arguments);
    if (length < 0) return;
    if (length > (int)sizeof line - 2) length = (int)sizeof line - 2;
    line[length] = '\n';
    if (write(STDOUT_FILENO, line, (size_t)length + 1) < 0) exit(1);
}

static CFStringRef text(const char *bytes) { return CFStringCreateWithCString(kCFAllocatorDefault, bytes, kCFStringEncodingUTF8); }

static const char *bytes(CFStringRef text, char *buffer, CFIndex size) {
    buffer[0] = 0;
    if (text != NULL) CFStringGetCString(text, buffer, size, kCFStringEncodingUTF8);
    return buffer;
}

static void returned(Boolean result, CFStreamError error) {
    say("returned %s %d %d", result ? "true" : "false", (int)error.error, (int)error.domain);
}

static void serviceEvent(CFNetServiceRef service, CFStreamError *error, void *info) {
    char name[1000];
    say("event %d %s", (int)error->error, bytes(CFNetServiceGetName(service), name, sizeof name));
}

static void browserEvent(CFNetServiceBrowserRef browser, CFOptionFlags flags, CFTypeRef object, CFStreamError *error, void *info) {
    char name[1000];
    if (object == NULL) {
        say("event %d %d", (int)error->error, (int)error->domain);
    } else if (flags & kCFNetServiceFlagIsDomain) {
        say("domain %s %d", bytes((CFStringRef)object, name, sizeof name), (int)flags);
    } else {
        bytes(CFNetServiceGetName((CFNetServiceRef)object), name, sizeof name);
        say("%s %s %d", flags & kCFNetServiceFlagRemove ? "-" : "+", name, (int)flags);
    }
}

static void end(const char *line) {
    if (strcmp(line, "cancel") == 0) {
        CFNetServiceCancel(service);
    } else if (strcmp(line, "invalidate") == 0) {
        CFNetServiceBrowserInvalidate(browser);
    } else if (strcmp(line, "stop") == 0) {
        CFNetServiceBrowserStopSearch(browser, NULL);
    } else {
        CFStreamError error = {-1, atoi(line + strlen("stop "))};
        CFNetServiceBrowserStopSearch(browser, &error);
    }
}

// Reads the standard input.
static void *obey(void *unused) {
    char line[200];
    while (fgets(line, sizeof line, stdin) != NULL) {
        CFStreamError error = {0, 0};
        line[strcspn(line, "\n")] = 0;
        if (strcmp(line, "again") == 0) {
            Boolean result = service != NULL ? CFNetServiceResolveWithTimeout(service, 1, &error)
                                             : CFNetServiceBrowserSearchForServices(browser, CFSTR(""), type, &error);
            say("again %s %d", result ? "true" : "false", (int)error.error);
            continue;
        }
        end(line);
        while (isBlocked) {
            usleep(20000);
            end(line);
        }
    }
    return NULL;
}

static void runForever(void) {
    say("started");
    CFRunLoopRun();
}

int main(int count, char **words) {
    if (count < 3) return 64;
    const char *verb = words[1];
    Boolean isAsync = strstr(verb, "-async") != NULL, result = false;
    CFStreamError error = {0, 0};
    CFNetServiceClientContext context = {0, NULL, NULL, NULL, NULL};

    if (strncmp(verb, "register", 8) == 0 && count >= 5) {
        service = CFNetServiceCreate(NULL, CFSTR(""), text(words[3]), text(words[2]), atoi(words[4]));
    } else if (strcmp(verb, "resolve") == 0 && count == 6) {
        service = CFNetServiceCreate(NULL, text(words[4]), text(words[3]), text(words[2]), 0);
    } else {
        type = text(words[2]);
        browser = CFNetServiceBrowserCreate(NULL, browserEvent, &context);
    }
    isBlocked = !isAsync;
    pthread_t reader;
    if (pthread_create(&reader, NULL, obey, NULL) != 0) return 1;
    if (isAsync && service != NULL) {
        CFNetServiceSetClient(service, serviceEvent, &context);
        CFNetServiceScheduleWithRunLoop(service, CFRunLoopGetCurrent(), kCFRunLoopDefaultMode);
    } else if (isAsync) {
        CFNetServiceBrowserScheduleWithRunLoop(browser, CFRunLoopGetCurrent(), kCFRunLoopDefaultMode);
    }

    if (strncmp(verb, "register", 8) == 0) {
        CFOptionFlags options = count > 5 ? kCFNetServiceFlagNoAutoRename : 0;
        if (!isAsync) say("registering");
        result = CFNetServiceRegisterWithOptions(service, options, &error);
    } else if (strcmp(verb, "resolve") == 0) {
        say("resolving");
        result = CFNetServiceResolveWithTimeout(service, atof(words[5]), &error);
        if (result) {
            char host[1000];
            CFArrayRef addresses = CFNetServiceGetAddressing(service);
            bytes(CFNetServiceGetTargetHost(service), host, sizeof host);
            say("%s %d %d", host, (int)CFNetServiceGetPortNumber(service), addresses == NULL ? 0 : (int)CFArrayGetCount(addresses));
        }
    } else if (strncmp(verb, "browse", 6) == 0 && count == 4) {
        result = CFNetServiceBrowserSearchForServices(browser, text(words[3]), type, &error);
    } else if (strncmp(verb, "domains", 7) == 0) {
        result = CFNetServiceBrowserSearchForDomains(browser, strcmp(words[2], "registration") == 0, &error);
    } else if (strcmp(verb, "invalid") == 0) {
        CFNetServiceBrowserInvalidate(browser);
        result = CFNetServiceBrowserSearchForServices(browser, CFSTR(""), type, &error);
    } else {
        return 64;
    }
    isBlocked = false;
    if (isAsync && result) runForever();
    returned(result, error);
    // The test ends the program: what a finished operation left behind would be seen.
    pthread_join(reader, NULL);
    return 0;
}
