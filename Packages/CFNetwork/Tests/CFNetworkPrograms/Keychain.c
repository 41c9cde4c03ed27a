#include "CFNetworkPrograms.h"
#include "Check.h"
#include "Keychain.h"
#include <Security/Security.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/// Makes the keychain an empty file of this process. Returns the folder.
char *useOwnKeychain(void) {
    static char folder[] = "/tmp/cfnetwork-keychain-XXXXXX";
    setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent", 1);
    setenv("XDG_DATA_HOME", mkdtemp(folder), 1);
    return folder;
}

void removeKeychain(const char *folder) {
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    if (system(command) != 0) abort();
}

static OSStatus add(const char *server, const char *realm, const char *user, const char *path, UInt16 port, const char *password, SecKeychainItemRef *item) {
    return SecKeychainAddInternetPassword(NULL, (UInt32)strlen(server), server, (UInt32)strlen(realm), realm, (UInt32)strlen(user), user,
        (UInt32)strlen(path), path, port, kSecProtocolTypeHTTPS, kSecAuthenticationTypeHTTPDigest, (UInt32)strlen(password), password, item);
}

static OSStatus find(const char *server, const char *realm, const char *user, const char *path, UInt16 port, UInt32 *length, void **password, SecKeychainItemRef *item) {
    return SecKeychainFindInternetPassword(NULL, (UInt32)strlen(server), server, (UInt32)strlen(realm), realm, (UInt32)strlen(user), user,
        (UInt32)strlen(path), path, port, kSecProtocolTypeAny, kSecAuthenticationTypeAny, length, password, item);
}

/// Whether an item has a user and a password.
static Boolean has(SecKeychainItemRef item, const char *user, const char *password) {
    SecKeychainAttribute attribute = {kSecAccountItemAttr, 0, NULL};
    SecKeychainAttributeList list = {1, &attribute};
    UInt32 length = 0;
    void *data = NULL;
    SecItemClass kind = 0;
    if (SecKeychainItemCopyContent(item, &kind, &list, &length, &data) != noErr) return FALSE;
    Boolean isEqual = kind == kSecInternetPasswordItemClass && attribute.length == strlen(user) && memcmp(attribute.data, user, attribute.length) == 0 &&
                      length == strlen(password) && memcmp(data, password, length) == 0;
    return SecKeychainItemFreeContent(&list, data) == noErr && isEqual && attribute.data == NULL;
}

static CFMutableDictionaryRef query(const char *server, const char *user) {
    CFMutableDictionaryRef dictionary = CFDictionaryCreateMutable(NULL, 0, &kCFTypeDictionaryKeyCallBacks, &kCFTypeDictionaryValueCallBacks);
    CFDictionarySetValue(dictionary, kSecClass, kSecClassInternetPassword);
    for (int i = 0; i < 2; i++) {
        const char *text = i == 0 ? server : user;
        if (text == NULL) continue;
        CFStringRef value = CFStringCreateWithCString(NULL, text, kCFStringEncodingUTF8);
        CFDictionarySetValue(dictionary, i == 0 ? kSecAttrServer : kSecAttrAccount, value);
        CFRelease(value);
    }
    return dictionary;
}

const char *CFNetworkKeychainProgram(void) {
    char *folder = useOwnKeychain();
    SecKeychainItemRef item = NULL, other = NULL;
    UInt32 length = 7;
    void *data = NULL;
    CHECK(find("example.org", "", "", "", 0, &length, &data, &item) == errSecItemNotFound && item == NULL && data == NULL && length == 7);
    struct stat status;
    char path[128];
    snprintf(path, sizeof path, "%s/netkit", folder);
    CHECK(stat(path, &status) != 0); // a search creates nothing
    CHECK(add("Example.org", "staff", "jöe", "/a", 8443, "open sesame", &item) == noErr && CFGetTypeID(item) == SecKeychainItemGetTypeID());
    CHECK(stat(path, &status) == 0 && (status.st_mode & 0777) == 0700);
    strcat(path, "/keychain.key");
    CHECK(stat(path, &status) == 0 && (status.st_mode & 0777) == 0600 && status.st_size == 32);
    CHECK(has(item, "jöe", "open sesame"));
    CHECK(add("example.org", "staff", "jöe", "/a", 8443, "x", NULL) == errSecDuplicateItem);

    // Every argument counts; one that is absent matches any value.
    CHECK(find("example.org", "staff", "jöe", "/a", 8443, &length, &data, &other) == noErr && length == 11 && memcmp(data, "open sesame", 12) == 0);
    CHECK(has(other, "jöe", "open sesame") && SecKeychainItemFreeContent(NULL, data) == noErr);
    CFRelease(other);
    CHECK(find("", "", "", "", 0, NULL, NULL, NULL) == noErr);
    CHECK(find("example.com", "staff", "jöe", "/a", 8443, NULL, NULL, NULL) == errSecItemNotFound);
    CHECK(find("example.org", "guests", "jöe", "/a", 8443, NULL, NULL, NULL) == errSecItemNotFound);
    CHECK(find("example.org", "staff", "ann", "/a", 8443, NULL, NULL, NULL) == errSecItemNotFound);
    CHECK(find("example.org", "staff", "jöe", "/b", 8443, NULL, NULL, NULL) == errSecItemNotFound);
    CHECK(find("example.org", "staff", "jöe", "/a", 443, NULL, NULL, NULL) == errSecItemNotFound);

    // The best match comes first. An item without a path is found for any.
    CHECK(add("example.org", "staff", "jöe", "", 8443, "any path", NULL) == noErr);
    CHECK(find("example.org", "staff", "", "/a", 8443, NULL, NULL, &other) == noErr && has(other, "jöe", "open sesame"));
    CFRelease(other);
    CHECK(find("example.org", "staff", "", "/b", 8443, NULL, NULL, &other) == noErr && has(other, "jöe", "any path"));

    // All attributes are read and written.
    UInt32 port = 8080;
    UInt16 shortPort = 81;
    SecProtocolType protocol = kSecProtocolTypeHTTP;
    SecAuthenticationType type = kSecAuthenticationTypeHTTPBasic;
    SecKeychainAttribute changes[] = {{kSecLabelItemAttr, 5, "label"}, {kSecSecurityDomainItemAttr, 1, "r"}, {kSecServerItemAttr, 4, "HOST"},
        {kSecPathItemAttr, 2, "/c"}, {kSecPortItemAttr, 4, &port}, {kSecProtocolItemAttr, 4, &protocol},
        {kSecAuthenticationTypeItemAttr, 4, &type}, {kSecAccountItemAttr, 3, "ann"}};
    SecKeychainAttributeList list = {8, changes};
    CHECK(SecKeychainItemModifyContent(other, &list, 0, NULL) == noErr && has(other, "ann", "any path"));
    CHECK(SecKeychainItemModifyContent(other, NULL, 3, "new") == noErr && has(other, "ann", "new"));
    SecKeychainAttribute found[10];
    for (int i = 0; i < 8; i++) found[i] = (SecKeychainAttribute){changes[i].tag, 99, NULL};
    found[8].tag = kSecCreationDateItemAttr;
    found[9].tag = kSecModDateItemAttr;
    SecKeychainAttributeList result = {10, found};
    CHECK(SecKeychainItemCopyContent(other, NULL, &result, NULL, NULL) == noErr);
    for (int i = 0; i < 8; i++) {
        CHECK(found[i].length == changes[i].length);
        CHECK(memcmp(found[i].data, i == 2 ? "host" : changes[i].data, found[i].length) == 0);
    }
    CHECK(found[8].length == 15 && memcmp(found[8].data, "20", 2) == 0 && ((char *)found[9].data)[14] == 'Z');
    CHECK(SecKeychainItemFreeContent(&result, NULL) == noErr);
    changes[0] = (SecKeychainAttribute){kSecPortItemAttr, 2, &shortPort};
    changes[1] = (SecKeychainAttribute){kSecPathItemAttr, 0, NULL};
    list.count = 2;
    CHECK(SecKeychainItemModifyContent(other, &list, 0, NULL) == noErr);
    CHECK(find("host", "", "", "/any", 81, NULL, NULL, NULL) == noErr && find("host", "", "", "", 8080, NULL, NULL, NULL) == errSecItemNotFound);

    // An item that is deleted is gone for every reference.
    SecKeychainItemRef same = NULL;
    CHECK(find("host", "", "", "", 0, NULL, NULL, &same) == noErr);
    changes[0] = (SecKeychainAttribute){kSecLabelItemAttr, 3, "new"};
    list.count = 1;
    CHECK(SecKeychainItemModifyContent(other, &list, 0, NULL) == noErr && SecKeychainItemModifyContent(same, NULL, 5, "newer") == noErr);
    CHECK(SecKeychainItemCopyContent(other, NULL, &list, NULL, NULL) == noErr && list.attr->length == 3 && memcmp(list.attr->data, "new", 3) == 0);
    CHECK(SecKeychainItemFreeContent(&list, NULL) == noErr && SecKeychainItemDelete(other) == noErr);
    CHECK(SecKeychainItemCopyContent(same, NULL, &list, NULL, NULL) == errSecItemNotFound && SecKeychainItemCopyContent(same, NULL, NULL, NULL, NULL) == errSecItemNotFound);
    CFTypeRef value = NULL;
    CFMutableDictionaryRef reference = query(NULL, NULL);
    CFDictionarySetValue(reference, kSecValueRef, same);
    CFDictionarySetValue(reference, kSecReturnRef, kCFBooleanTrue);
    CHECK(SecItemCopyMatching(reference, &value) == errSecItemNotFound && value == NULL);
    CFDictionarySetValue(reference, kSecReturnAttributes, kCFBooleanTrue);
    CHECK(SecItemCopyMatching(reference, &value) == errSecItemNotFound && value == NULL);
    CFRelease(reference);
    CHECK(!has(same, "ann", "new") && !has(other, "ann", "new") && SecKeychainItemDelete(other) == errSecItemNotFound);
    CHECK(SecKeychainItemDelete(same) == errSecItemNotFound && SecKeychainItemModifyContent(same, NULL, 1, "x") == errSecItemNotFound);
    CFRelease(same);
    CFRelease(other);

    // Searches.
    CHECK(add("example.org", "staff", "ann", "", 0, "2", NULL) == noErr && add("example.com", "", "ann", "", 0, "3", NULL) == noErr);
    SecKeychainAttribute wanted = {kSecAccountItemAttr, 3, "ann"};
    SecKeychainAttributeList pattern = {1, &wanted};
    SecKeychainSearchRef search = NULL;
    CHECK(SecKeychainSearchCreateFromAttributes(NULL, kSecInternetPasswordItemClass, &pattern, &search) == noErr);
    CHECK(CFGetTypeID(search) == SecKeychainSearchGetTypeID());
    for (int i = 0; i < 2; i++) {
        CHECK(SecKeychainSearchCopyNext(search, &other) == noErr && has(other, "ann", i == 0 ? "3" : "2"));
        CFRelease(other);
    }
    CHECK(SecKeychainSearchCopyNext(search, &other) == errSecItemNotFound);
    CFRelease(search);
    CFRelease(item);
    removeKeychain(folder);
    return NULL;
}

static void setPassword(CFMutableDictionaryRef dictionary, const char *password) {
    CFDataRef data = CFDataCreate(NULL, (const UInt8 *)password, (CFIndex)strlen(password));
    CFDictionarySetValue(dictionary, kSecValueData, data);
    CFRelease(data);
}

static Boolean isData(CFTypeRef object, const char *text) {
    return object != NULL && CFGetTypeID(object) == CFDataGetTypeID() && CFDataGetLength(object) == (CFIndex)strlen(text) &&
           memcmp(CFDataGetBytePtr(object), text, strlen(text)) == 0;
}

/// A bus that fails is not replaced by the file, in which an item would be saved that is not found once the bus works again.
const char *CFNetworkKeychainServiceProgram(void) {
    char *folder = useOwnKeychain();
    char path[128], address[160];
    struct stat status;
    snprintf(path, sizeof path, "%s/share", folder);
    setenv("XDG_DATA_HOME", path, 1);
    CHECK(add("example.org", "", "joe", "", 0, "open sesame", NULL) == noErr && stat(path, &status) == 0 && (status.st_mode & 0777) == 0700);
    // Where nothing listens there is no bus, and the file is used; a socket of another type is one that fails.
    snprintf(path, sizeof path, "%s/bus", folder);
    snprintf(address, sizeof address, "unix:path=%s", path);
    setenv("DBUS_SESSION_BUS_ADDRESS", address, 1);
    CHECK(find("example.org", "", "", "", 0, NULL, NULL, NULL) == noErr);
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    strcpy(name.sun_path, path);
    int bus = socket(AF_UNIX, SOCK_DGRAM, 0);
    CHECK(bind(bus, (struct sockaddr *)&name, sizeof name) == 0);
    CHECK(find("example.org", "", "", "", 0, NULL, NULL, NULL) == errSecNotAvailable);
    CHECK(add("example.com", "", "joe", "", 0, "x", NULL) == errSecNotAvailable);
    CHECK(close(bus) == 0 && find("example.org", "", "", "", 0, NULL, NULL, NULL) == noErr && unlink(path) == 0);
    CHECK(find("example.com", "", "", "", 0, NULL, NULL, NULL) == errSecItemNotFound);
    removeKeychain(folder);
    return NULL;
}

const char *CFNetworkItemsProgram(void) {
    char *folder = useOwnKeychain();
    CFTypeRef result = NULL;
    CFMutableDictionaryRef joe = query("example.org", "joe"), any = query(NULL, NULL);
    CHECK(SecItemCopyMatching(joe, &result) == errSecItemNotFound && SecItemDelete(joe) == errSecItemNotFound && SecItemUpdate(joe, joe) == errSecParam);
    int number = 8443;
    CFNumberRef port = CFNumberCreate(NULL, kCFNumberIntType, &number);
    CFDictionarySetValue(joe, kSecAttrPort, port);
    CFDictionarySetValue(joe, kSecAttrProtocol, kSecAttrProtocolHTTPS);
    CFDictionarySetValue(joe, kSecAttrAuthenticationType, kSecAttrAuthenticationTypeHTTPBasic);
    CFDictionarySetValue(joe, kSecAttrPath, CFSTR("/a"));
    CFDictionarySetValue(joe, kSecAttrSecurityDomain, CFSTR("staff"));
    CFDictionarySetValue(joe, kSecAttrLabel, CFSTR("a label"));
    setPassword(joe, "1");
    CHECK(SecItemAdd(joe, NULL) == noErr && SecItemAdd(joe, NULL) == errSecDuplicateItem);
    CFMutableDictionaryRef ann = query("example.org", "ann");
    CFDictionarySetValue(ann, kSecReturnRef, kCFBooleanTrue);
    CHECK(SecItemAdd(ann, &result) == noErr && CFGetTypeID(result) == SecKeychainItemGetTypeID());

    // Results: nothing, a password, a reference, a dictionary, and arrays of them.
    CFDictionarySetValue(any, kSecValueRef, result);
    CFRelease(result);
    result = NULL;
    CHECK(SecItemCopyMatching(any, &result) == noErr && result == NULL);
    CFDictionarySetValue(any, kSecReturnAttributes, kCFBooleanTrue);
    CHECK(SecItemCopyMatching(any, &result) == noErr && CFEqual(CFDictionaryGetValue(result, kSecAttrAccount), CFSTR("ann")));
    CFRelease(result);
    CFDictionaryRemoveValue(any, kSecValueRef);
    CFDictionaryRemoveValue(any, kSecReturnAttributes);
    CFDictionarySetValue(any, kSecReturnData, kCFBooleanTrue);
    CFDictionarySetValue(any, kSecMatchLimit, kSecMatchLimitAll);
    CHECK(SecItemCopyMatching(any, &result) == noErr && CFGetTypeID(result) == CFArrayGetTypeID() && CFArrayGetCount(result) == 2);
    CHECK(isData(CFArrayGetValueAtIndex(result, 0), "") && isData(CFArrayGetValueAtIndex(result, 1), "1"));
    CFRelease(result);
    // One item is the object itself, also by its number.
    int one = 1;
    CFNumberRef single = CFNumberCreate(NULL, kCFNumberIntType, &one);
    CFDictionarySetValue(any, kSecMatchLimit, single);
    CFRelease(single);
    CHECK(SecItemCopyMatching(any, &result) == noErr && isData(result, ""));
    CFRelease(result);
    CFDictionarySetValue(any, kSecReturnAttributes, kCFBooleanTrue);
    CFDictionarySetValue(any, kSecReturnRef, kCFBooleanTrue);
    CFDictionarySetValue(any, kSecMatchLimit, port);
    CFDictionarySetValue(any, kSecAttrAccount, CFSTR("joe"));
    CHECK(SecItemCopyMatching(any, &result) == noErr && CFArrayGetCount(result) == 1);
    CFDictionaryRef found = CFArrayGetValueAtIndex(result, 0);
    CHECK(isData(CFDictionaryGetValue(found, kSecValueData), "1") && CFGetTypeID(CFDictionaryGetValue(found, kSecValueRef)) == SecKeychainItemGetTypeID());
    const CFStringRef keys[] = {kSecClass, kSecAttrServer, kSecAttrAccount, kSecAttrPort, kSecAttrProtocol, kSecAttrAuthenticationType, kSecAttrPath,
        kSecAttrSecurityDomain, kSecAttrLabel};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) CHECK(CFEqual(CFDictionaryGetValue(found, keys[i]), CFDictionaryGetValue(joe, keys[i])));
    CHECK(CFGetTypeID(CFDictionaryGetValue(found, kSecAttrCreationDate)) == CFDateGetTypeID());
    CHECK(CFAbsoluteTimeGetCurrent() - CFDateGetAbsoluteTime(CFDictionaryGetValue(found, kSecAttrModificationDate)) < 600);
    CFStringRef description = CFCopyDescription(result);
    CFRelease(description);
    CFRelease(result);

    // Changes and removals concern all items that match.
    CFMutableDictionaryRef host = query("example.org", NULL), changes = query(NULL, NULL);
    CFDictionaryRemoveValue(changes, kSecClass);
    setPassword(changes, "2");
    CFDictionarySetValue(changes, kSecAttrPath, CFSTR("/b"));
    CHECK(SecItemUpdate(host, changes) == noErr);
    CFDictionarySetValue(host, kSecReturnData, kCFBooleanTrue);
    CHECK(SecItemDelete(host) == errSecParam);
    CHECK(SecItemCopyMatching(host, &result) == noErr && isData(result, "2"));
    CFRelease(result);
    CFDictionarySetValue(changes, kSecAttrAccount, CFSTR("eve"));
    CFDictionaryRemoveValue(host, kSecReturnData);
    CHECK(SecItemUpdate(host, changes) == noErr);
    CHECK(SecItemDelete(host) == noErr && SecItemDelete(host) == errSecItemNotFound);
    const CFTypeRef all[] = {joe, ann, any, host, changes, port};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) CFRelease(all[i]);
    removeKeychain(folder);
    return NULL;
}

/// Whether SecItemCopyMatching refuses a value of a key.
enum { passwordSize = 2880, pieceSize = 64 };

static char letter(int index) { return (char)('!' + (index * index * 31 + index * 7 + index / 90) % 90); }

/// Whether the process has used any page between two addresses (proc_pid_pagemap(5)).
static Boolean isPresent(int pages, unsigned long start, unsigned long end) {
    uint64_t entries[32];
    const unsigned long size = (unsigned long)sysconf(_SC_PAGESIZE), first = start / size, count = (end + size - 1) / size - first;
    if (count > sizeof entries / sizeof *entries) return TRUE;
    ssize_t length = pread(pages, entries, count * sizeof *entries, (off_t)(first * sizeof *entries));
    for (ssize_t index = 0; index < length / (ssize_t)sizeof *entries; index++)
        if (entries[index] >> 62 != 0) return TRUE;
    return length != (ssize_t)(count * sizeof *entries);
}

/// The number of pieces of the password in some memory of the process, which may be gone meanwhile: another thread may have ended. The letters are
/// computed, so that the search has no copy but that in its window, which does not count. A sanitizer would make it ten times as long.
__attribute__((no_sanitize("thread", "address"))) static int piecesBetween(int memory, int pages, unsigned long first, unsigned long last) {
    enum { step = 1 << 16 };
    static char window[step + pieceSize];
    const unsigned long own = (unsigned long)window;
    int pieces = 0;
    for (unsigned long start = first; start < last; start += step) {
        const unsigned long end = last - start < sizeof window ? last : start + sizeof window;
        if (!isPresent(pages, start, end)) continue;
        ssize_t size = pread(memory, window, end - start, (off_t)start);
        for (ssize_t place = 0; place + pieceSize <= size && place < step; place++) {
            const unsigned long address = start + (unsigned long)place;
            if (window[place] < '!' || window[place] >= '!' + 90 || (address + pieceSize > own && address < own + sizeof window)) continue;
            for (int piece = 0; piece < passwordSize; piece += pieceSize) {
                int same = 0;
                while (same < pieceSize && window[place + same] == letter(piece + same)) same++;
                if (same == pieceSize) pieces++;
            }
        }
    }
    explicit_bzero(window, sizeof window);
    return pieces;
}

/// The number of pieces of the password in the memory that the process may write.
static int piecesInMemory(void) {
    static char maps[65536];
    int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC), memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    int pages = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC), pieces = 0;
    size_t size = 0;
    for (ssize_t part; (part = read(file, maps + size, sizeof maps - 1 - size)) > 0;) size += (size_t)part;
    maps[size] = 0;
    close(file);
    for (const char *line = maps; line != NULL && *line != 0; line = strchr(line, '\n'), line += line != NULL) {
        unsigned long first, last;
        char rights[8], name[8] = "";
        if (sscanf(line, "%lx-%lx %7s %*s %*s %*s%*[ ]%7[^\n]", &first, &last, rights, name) < 3 || strncmp(rights, "rw", 2) != 0) continue;
        // A sanitizer's shadow of the memory has no copies, is terabytes large, and mostly unused.
        if (strncmp(name, "/dev", 4) != 0 && last - first <= 1ul << 28) pieces += piecesBetween(memory, pages, first, last);
    }
    close(pages);
    close(memory);
    return pieces;
}

static void erase(CFDataRef data) { explicit_bzero((void *)CFDataGetBytePtr(data), (size_t)CFDataGetLength(data)); }

/// Each function leaves no copy of a password in memory but those that belong to the program.
const char *CFNetworkKeychainMemoryProgram(void) {
    static char password[passwordSize];
    char *folder = useOwnKeychain();
    for (int i = 0; i < passwordSize; i++) password[i] = letter(i);
    const int own = piecesInMemory();
    CHECK(own == passwordSize / pieceSize);
    CFMutableDictionaryRef item = query("example.org", "joe"), change = CFDictionaryCreateMutable(NULL, 0, &kCFTypeDictionaryKeyCallBacks, &kCFTypeDictionaryValueCallBacks);
    CFDataRef data = CFDataCreate(NULL, (const UInt8 *)password, passwordSize);
    CFDictionarySetValue(item, kSecValueData, data);
    CFDictionarySetValue(change, kSecValueData, data);
    CHECK(SecItemAdd(item, NULL) == noErr && piecesInMemory() == 2 * own);
    CFDictionaryRemoveValue(item, kSecValueData);
    CHECK(SecItemUpdate(item, change) == noErr && piecesInMemory() == 2 * own);
    erase(data);
    CFRelease(data);
    CFRelease(change);
    CHECK(SecKeychainAddInternetPassword(NULL, 11, "example.org", 0, NULL, 3, "ann", 0, NULL, 0, kSecProtocolTypeAny, kSecAuthenticationTypeAny, passwordSize, password,
              NULL) == noErr && piecesInMemory() == own);
    CFDictionarySetValue(item, kSecReturnData, kCFBooleanTrue);
    for (int i = 0; i < 2; i++) {
        CFTypeRef result = NULL;
        if (i == 1) CFDictionarySetValue(item, kSecReturnAttributes, kCFBooleanTrue);
        CHECK(SecItemCopyMatching(item, &result) == noErr && piecesInMemory() == 2 * own);
        data = i == 0 ? result : CFDictionaryGetValue(result, kSecValueData);
        CHECK(CFDataGetLength(data) == passwordSize && memcmp(CFDataGetBytePtr(data), password, passwordSize) == 0);
        erase(data);
        CFRelease(result);
    }
    UInt32 length = 0;
    void *bytes = NULL;
    SecKeychainItemRef found = NULL;
    CHECK(find("example.org", "", "ann", "", 0, &length, &bytes, &found) == noErr && length == passwordSize && memcmp(bytes, password, length) == 0);
    CHECK(SecKeychainItemFreeContent(NULL, bytes) == noErr && piecesInMemory() == own);
    CHECK(SecKeychainItemCopyContent(found, NULL, NULL, &length, &bytes) == noErr && length == passwordSize && piecesInMemory() == 2 * own);
    CHECK(SecKeychainItemFreeContent(NULL, bytes) == noErr && piecesInMemory() == own);
    CHECK(SecKeychainItemModifyContent(found, NULL, passwordSize, password) == noErr && piecesInMemory() == own);
    CFRelease(found);
    CFRelease(item);
    removeKeychain(folder);
    return NULL;
}

static Boolean isRefused(CFStringRef key, CFTypeRef value) {
    CFMutableDictionaryRef dictionary = query("example.org", NULL);
    CFDictionarySetValue(dictionary, key, value);
    OSStatus status = SecItemCopyMatching(dictionary, NULL);
    CFRelease(dictionary);
    return status == errSecParam;
}

const char *CFNetworkKeychainMistakesProgram(void) {
    char *folder = useOwnKeychain();
    SecKeychainItemRef item = NULL;
    static char large[70000];
    memset(large, 'a', sizeof large - 1);
    // Arguments that are NULL, of another type, or too large.
    CHECK(SecKeychainFindInternetPassword(CFSTR("x"), 0, NULL, 0, NULL, 0, NULL, 0, NULL, 0, 0, 0, NULL, NULL, NULL) == errSecInvalidKeychain);
    CHECK(SecKeychainFindInternetPassword(NULL, 5, NULL, 0, NULL, 0, NULL, 0, NULL, 0, 0, 0, NULL, NULL, NULL) == errSecParam);
    CHECK(SecKeychainFindInternetPassword(NULL, 5, large, 0, NULL, 0, NULL, 0, NULL, 0, 'x', 0, NULL, NULL, NULL) == errSecParam);
    CHECK(SecKeychainFindInternetPassword(NULL, 4097, large, 0, NULL, 0, NULL, 0, NULL, 0, 0, 0, NULL, NULL, NULL) == errSecDataTooLarge);
    CHECK(SecKeychainFindInternetPassword(NULL, 2, "\xc3\x28", 0, NULL, 0, NULL, 0, NULL, 0, 0, 0, NULL, NULL, NULL) == errSecParam);
    CHECK(SecKeychainFindInternetPassword(NULL, 2, "a\0", 0, NULL, 0, NULL, 0, NULL, 0, 0, 0, NULL, NULL, NULL) == errSecParam);
    CHECK(add("", "", "joe", "", 0, "x", NULL) == errSecParam && add("h", "", "", "", 0, "x", NULL) == errSecParam);
    CHECK(add("h", large, "joe", "", 0, "x", NULL) == errSecDataTooLarge && add("h", "", "joe", "", 0, large, NULL) == errSecDataTooLarge);
    large[65536] = 0;
    CHECK(add("h", "", "joe", "", 0, large, &item) == noErr && has(item, "joe", large));
    const SecKeychainItemRef wrong[] = {NULL, (SecKeychainItemRef)CFSTR("x"), (SecKeychainItemRef)kCFBooleanTrue};
    for (int i = 0; i < 3; i++) {
        CHECK(SecKeychainItemCopyContent(wrong[i], NULL, NULL, NULL, NULL) == errSecInvalidItemRef);
        CHECK(SecKeychainItemModifyContent(wrong[i], NULL, 0, NULL) == errSecInvalidItemRef && SecKeychainItemDelete(wrong[i]) == errSecInvalidItemRef);
        CHECK(SecKeychainSearchCopyNext((SecKeychainSearchRef)wrong[i], &item) == errSecInvalidSearchRef);
    }
    SecKeychainAttribute attributes[] = {{kSecAccountItemAttr, 0, NULL}, {'none', 0, NULL}};
    SecKeychainAttributeList list = {2, attributes}, empty = {1, NULL};
    void *data = NULL;
    CHECK(SecKeychainItemCopyContent(item, NULL, &list, NULL, &data) == errSecNoSuchAttr && data == NULL && attributes[0].data == NULL);
    CHECK(SecKeychainItemCopyContent(item, NULL, &empty, NULL, NULL) == errSecParam);
    CHECK(SecKeychainItemModifyContent(item, &list, 1, "x") == errSecNoSuchAttr && SecKeychainItemModifyContent(item, NULL, 1, NULL) == errSecParam);
    list.count = 1;
    CHECK(SecKeychainItemModifyContent(item, &list, 1, "x") == errSecParam); // without an account
    attributes[0] = (SecKeychainAttribute){kSecModDateItemAttr, 1, "x"};
    CHECK(SecKeychainItemModifyContent(item, &list, 1, "x") == errSecNoSuchAttr);
    attributes[0] = (SecKeychainAttribute){kSecPortItemAttr, 3, "xxx"};
    CHECK(SecKeychainItemModifyContent(item, &list, 1, "x") == errSecParam && has(item, "joe", large));
    SecKeychainSearchRef search = NULL;
    CHECK(SecKeychainSearchCreateFromAttributes(NULL, kSecInternetPasswordItemClass, NULL, NULL) == errSecParam);
    CHECK(SecKeychainSearchCreateFromAttributes(NULL, 'genp', NULL, &search) == errSecNoSuchClass);
    CHECK(SecKeychainSearchCreateFromAttributes(CFSTR("x"), kSecInternetPasswordItemClass, NULL, &search) == errSecInvalidKeychain);
    CHECK(SecKeychainSearchCreateFromAttributes(NULL, kSecInternetPasswordItemClass, NULL, &search) == noErr);
    CHECK(SecKeychainSearchCopyNext(search, NULL) == errSecParam);
    CFRelease(search);
    CHECK(SecKeychainItemFreeContent(NULL, NULL) == noErr);

    // Another item has the attributes already.
    SecKeychainItemRef ann = NULL;
    CHECK(add("h", "", "ann", "", 0, "2", &ann) == noErr);
    attributes[0] = (SecKeychainAttribute){kSecAccountItemAttr, 3, "joe"};
    CHECK(SecKeychainItemModifyContent(ann, &list, 1, "x") == errSecDuplicateItem && has(ann, "ann", "2"));
    CFRelease(ann);

    CHECK(SecItemAdd(NULL, NULL) == errSecParam && SecItemCopyMatching((CFDictionaryRef)CFSTR("x"), NULL) == errSecParam);
    CHECK(SecItemUpdate(NULL, NULL) == errSecParam && SecItemDelete(NULL) == errSecParam);
    CFMutableDictionaryRef bad = query("example.org", NULL);
    CHECK(SecItemAdd(bad, NULL) == errSecParam); // without an account
    CFDictionarySetValue(bad, kSecClass, CFSTR("genp"));
    CHECK(SecItemCopyMatching(bad, NULL) == errSecNoSuchClass);
    CFDictionaryRemoveValue(bad, kSecClass);
    CHECK(SecItemCopyMatching(bad, NULL) == errSecParam);
    CFRelease(bad);
    int million = 1000000, zero = 0;
    CFNumberRef large_ = CFNumberCreate(NULL, kCFNumberIntType, &million), none = CFNumberCreate(NULL, kCFNumberIntType, &zero);
    CHECK(isRefused(kSecAttrPort, large_) && isRefused(kSecAttrPort, CFSTR("80")) && isRefused(kSecAttrAccount, large_));
    CHECK(isRefused(kSecAttrProtocol, CFSTR("HTTP")) && isRefused(kSecAttrAuthenticationType, large_) && isRefused(CFSTR("pdmn"), CFSTR("ak")));
    CHECK(isRefused(kSecMatchLimit, none) && isRefused(kSecMatchLimit, CFSTR("two")) && isRefused(kSecReturnData, CFSTR("yes")));
    CHECK(isRefused(kSecValueRef, CFSTR("x")) && isRefused(kSecValueData, CFSTR("x")) && isRefused(kSecAttrCreationDate, CFSTR("x")));
    // Truth values are no numbers, and numbers are neither truth values nor, with a fraction, ports.
    double half = 80.5, infinite = 1e300;
    CFNumberRef port = CFNumberCreate(NULL, kCFNumberDoubleType, &half), beyond = CFNumberCreate(NULL, kCFNumberDoubleType, &infinite);
    CHECK(isRefused(kSecAttrPort, kCFBooleanTrue) && isRefused(kSecAttrPort, port) && isRefused(kSecAttrPort, beyond));
    CHECK(isRefused(kSecMatchLimit, kCFBooleanTrue) && isRefused(kSecMatchLimit, port) && isRefused(kSecMatchLimit, beyond));
    CHECK(isRefused(kSecReturnData, large_) && isRefused(kSecReturnAttributes, none) && isRefused(kSecReturnRef, port));
    CFRelease(port);
    CFRelease(beyond);
    CFRelease(large_);
    CFRelease(none);

    // Texts of errors.
    CFStringRef text = SecCopyErrorMessageString(errSecItemNotFound, NULL), unknown = SecCopyErrorMessageString(-1, NULL);
    CHECK(CFEqual(text, CFSTR("The keychain has no such item.")) && CFEqual(unknown, CFSTR("Error -1.")));
    CHECK(SecCopyErrorMessageString(noErr, &item) == NULL);
    CFRelease(text);
    CFRelease(unknown);

    // A file that is damaged, one that others can read, and a user without a folder.
    char path[128];
    snprintf(path, sizeof path, "%s/netkit/keychain", folder);
    CHECK(chmod(path, 0644) == 0 && find("h", "", "", "", 0, NULL, NULL, NULL) == errSecNotAvailable);
    CHECK(truncate(path, 20) == 0 && chmod(path, 0600) == 0);
    CHECK(find("h", "", "", "", 0, NULL, NULL, NULL) == errSecDecode && SecKeychainItemDelete(item) == errSecDecode);
    unsetenv("XDG_DATA_HOME");
    unsetenv("HOME");
    CHECK(find("h", "", "", "", 0, NULL, NULL, NULL) == errSecNoDefaultKeychain);
    CFRelease(item);
    removeKeychain(folder);
    return NULL;
}

enum { writers = 4, changes = 8 };
static SecKeychainItemRef shared;
static Boolean hasFailed;

static void *change(void *argument) {
    const char *name = argument;
    SecKeychainItemRef own = NULL;
    if (add("h", "", name, "", 0, "1", &own) != noErr) hasFailed = TRUE;
    for (int i = 0; i < changes; i++) {
        SecKeychainAttribute attribute = {kSecPathItemAttr, (UInt32)strlen(name), (void *)name};
        SecKeychainAttributeList list = {1, &attribute};
        if (SecKeychainItemModifyContent(shared, &list, (UInt32)strlen(name), name) != noErr) hasFailed = TRUE;
        if (!has(own, name, "1")) hasFailed = TRUE;
        CFStringRef description = CFCopyDescription(shared);
        CFRelease(description);
    }
    CFRelease(own);
    return NULL;
}

const char *CFNetworkKeychainThreadsProgram(void) {
    char *folder = useOwnKeychain();
    CHECK(add("h", "", "shared", "", 0, "0", &shared) == noErr);
    pthread_t threads[writers];
    static const char *names[writers] = {"a", "b", "c", "d"};
    for (int i = 0; i < writers; i++) CHECK(pthread_create(&threads[i], NULL, change, (void *)names[i]) == 0);
    for (int i = 0; i < writers; i++) pthread_join(threads[i], NULL);
    CHECK(!hasFailed);
    SecKeychainSearchRef search = NULL;
    SecKeychainItemRef item = NULL;
    CHECK(SecKeychainSearchCreateFromAttributes(NULL, kSecInternetPasswordItemClass, NULL, &search) == noErr);
    for (int i = 0; i <= writers; i++) {
        CHECK(SecKeychainSearchCopyNext(search, &item) == noErr);
        CFRelease(item);
    }
    CHECK(SecKeychainSearchCopyNext(search, &item) == errSecItemNotFound);
    CFRelease(search);
    CFRelease(shared);
    removeKeychain(folder);
    return NULL;
}
