// A stand-in for the part of Apple's Security framework that the listings use: a keychain in memory, with one entry.
#ifndef SECURITY_H
#define SECURITY_H

#include <CFNetwork/CFNetwork.h>
#include <stdlib.h>
#include <string.h>

typedef UInt32 SecProtocolType;
typedef UInt32 SecAuthenticationType;
enum { kSecProtocolTypeHTTP = 'http', kSecAuthenticationTypeHTTPDigest = 'httd', kSecAccountItemAttr = 'acct', errSecItemNotFound = -25300 };
typedef struct {
    UInt32 tag;
    UInt32 length;
    void *data;
} SecKeychainAttribute;
typedef struct {
    UInt32 count;
    SecKeychainAttribute *attr;
} SecKeychainAttributeList;
typedef CFTypeRef SecKeychainItemRef;

static char keptHost[64], keptAccount[64], keptPassword[64];
static Boolean isKept;

static inline void *copyOf(const char *string) { return memcpy(malloc(strlen(string) + 1), string, strlen(string) + 1); }

static inline OSStatus SecKeychainFindInternetPassword(
    CFTypeRef keychain, UInt32 hostLength, const char *host, UInt32 domainLength, const char *domain, UInt32 accountLength, const char *account,
    UInt32 pathLength, const char *path, UInt16 port, SecProtocolType protocol, SecAuthenticationType type, UInt32 *passwordLength, void **password,
    SecKeychainItemRef *item) {
    if (!isKept || strlen(keptHost) != hostLength || memcmp(keptHost, host, hostLength)) return errSecItemNotFound;
    *item = CFRetain(CFSTR("item"));
    return noErr;
}
static inline OSStatus SecKeychainAddInternetPassword(
    CFTypeRef keychain, UInt32 hostLength, const char *host, UInt32 domainLength, const char *domain, UInt32 accountLength, const char *account,
    UInt32 pathLength, const char *path, UInt16 port, SecProtocolType protocol, SecAuthenticationType type, UInt32 passwordLength, const void *password,
    SecKeychainItemRef *item) {
    memcpy(keptHost, host, hostLength);
    memcpy(keptAccount, account, accountLength);
    memcpy(keptPassword, password, passwordLength);
    isKept = TRUE;
    *item = CFRetain(CFSTR("item"));
    return noErr;
}
static inline OSStatus SecKeychainItemModifyContent(SecKeychainItemRef item, const SecKeychainAttributeList *list, UInt32 length, const void *data) {
    memset(keptPassword, 0, sizeof keptPassword);
    memcpy(keptPassword, data, length);
    return noErr;
}
static inline OSStatus SecKeychainItemCopyContent(SecKeychainItemRef item, void *itemClass, SecKeychainAttributeList *list, UInt32 *length, void **data) {
    list->attr->data = copyOf(keptAccount);
    list->attr->length = (UInt32)strlen(keptAccount);
    *data = copyOf(keptPassword);
    *length = (UInt32)strlen(keptPassword);
    return noErr;
}
static inline OSStatus SecKeychainItemFreeContent(SecKeychainAttributeList *list, void *data) {
    free(list->attr->data);
    free(data);
    return noErr;
}

#endif
