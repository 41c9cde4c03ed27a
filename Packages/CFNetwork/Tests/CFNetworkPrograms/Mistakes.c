// Invalid arguments: each function of Security and SystemConfiguration gets, for each object among its arguments, NULL and objects of all other types; and
// NULL, or a pointer to something invalid, for each of its pointers.

#include "CFNetworkPrograms.h"
#include "Check.h"
#include "Keychain.h"
#include <CFNetwork/CFNetwork.h>
#include <Security/Security.h>
#include <SystemConfiguration/SystemConfiguration.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

/// The results that the calls write. None is written by a call that fails.
static CFTypeRef result;
static UInt32 number;

static CFDataRef data;
static CFMutableDictionaryRef attributes;
static CFDictionaryRef changes;
static SCDynamicStoreRef store;
static SCNetworkReachabilityRef target;
static SecCertificateRef certificate;
static SecKeychainItemRef item;
static SecKeychainSearchRef search;
static SecTrustRef trust;

// MARK: Objects

#define IS(type) \
    static Boolean is##type(CFTypeRef object) { return CFGetTypeID(object) == type##GetTypeID(); }
IS(CFArray)
IS(CFData)
IS(CFDate)
IS(CFDictionary)
IS(CFRunLoop)
IS(CFString)
IS(SCDynamicStore)
IS(SCNetworkReachability)
IS(SecCertificate)
IS(SecIdentity)
IS(SecKeychainItem)
IS(SecKeychainSearch)
IS(SecTrust)

static Boolean isNothing(CFTypeRef object) { return FALSE; }
static Boolean isPolicyOrArray(CFTypeRef object) { return CFGetTypeID(object) == SecPolicyGetTypeID() || isCFArray(object); }
static Boolean isPropertyList(CFTypeRef object) {
    const CFTypeID type = CFGetTypeID(object), types[] = {CFStringGetTypeID(), CFDataGetTypeID(), CFNumberGetTypeID(), CFBooleanGetTypeID(),
        CFDateGetTypeID(), CFArrayGetTypeID(), CFDictionaryGetTypeID()};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (type == types[i]) return TRUE;
    return FALSE;
}

enum { OPTIONAL, REQUIRED };
#define OUT(type) ((type)(void *)&result)
#define NUMBER ((void *)&number)

/// A function, one of its arguments, a call with `object` as that, the objects that it accepts, whether NULL is accepted too, and the result of a call that
/// is refused.
#define OBJECTS(ROW) \
    ROW(SecCertificateCreateWithData, data, (NULL, object), isCFData, REQUIRED, 0) \
    ROW(SecCertificateCopyData, certificate, ((SecCertificateRef)object), isSecCertificate, REQUIRED, 0) \
    ROW(SecCertificateCopySubjectSummary, certificate, ((SecCertificateRef)object), isSecCertificate, REQUIRED, 0) \
    ROW(SecCertificateCopyCommonName, certificate, ((SecCertificateRef)object, OUT(CFStringRef *)), isSecCertificate, REQUIRED, errSecParam) \
    ROW(SecIdentityCopyCertificate, identityRef, ((SecIdentityRef)object, OUT(SecCertificateRef *)), isSecIdentity, REQUIRED, errSecParam) \
    ROW(SecPKCS12Import, pkcs12_data, (object, NULL, OUT(CFArrayRef *)), isCFData, REQUIRED, errSecParam) \
    ROW(SecPKCS12Import, options, (data, object, OUT(CFArrayRef *)), isCFDictionary, OPTIONAL, errSecParam) \
    ROW(SecItemAdd, attributes, (object, OUT(CFTypeRef *)), isCFDictionary, REQUIRED, errSecParam) \
    ROW(SecItemCopyMatching, query, (object, OUT(CFTypeRef *)), isCFDictionary, REQUIRED, errSecParam) \
    ROW(SecItemUpdate, query, (object, changes), isCFDictionary, REQUIRED, errSecParam) \
    ROW(SecItemUpdate, attributesToUpdate, (attributes, object), isCFDictionary, REQUIRED, errSecParam) \
    ROW(SecItemDelete, query, (object), isCFDictionary, REQUIRED, errSecParam) \
    ROW(SecKeychainAddInternetPassword, keychain, ((SecKeychainRef)object, 1, "a", 0, NULL, 1, "b", 0, NULL, 0, 0, 0, 1, "c", OUT(SecKeychainItemRef *)), isNothing, OPTIONAL, errSecInvalidKeychain) \
    ROW(SecKeychainFindInternetPassword, keychainOrArray, (object, 1, "a", 0, NULL, 0, NULL, 0, NULL, 0, 0, 0, NUMBER, NULL, OUT(SecKeychainItemRef *)), isNothing, OPTIONAL, errSecInvalidKeychain) \
    ROW(SecKeychainItemModifyContent, itemRef, ((SecKeychainItemRef)object, NULL, 1, "x"), isSecKeychainItem, REQUIRED, errSecInvalidItemRef) \
    ROW(SecKeychainItemCopyContent, itemRef, ((SecKeychainItemRef)object, NULL, NULL, NUMBER, OUT(void **)), isSecKeychainItem, REQUIRED, errSecInvalidItemRef) \
    ROW(SecKeychainItemDelete, itemRef, ((SecKeychainItemRef)object), isSecKeychainItem, REQUIRED, errSecInvalidItemRef) \
    ROW(SecKeychainSearchCreateFromAttributes, keychainOrArray, (object, kSecInternetPasswordItemClass, NULL, OUT(SecKeychainSearchRef *)), isNothing, OPTIONAL, errSecInvalidKeychain) \
    ROW(SecKeychainSearchCopyNext, searchRef, ((SecKeychainSearchRef)object, OUT(SecKeychainItemRef *)), isSecKeychainSearch, REQUIRED, errSecInvalidSearchRef) \
    ROW(SecPolicyCreateSSL, hostname, (TRUE, object), isCFString, OPTIONAL, 0) \
    ROW(SecTrustCreateWithCertificates, certificates, (object, NULL, OUT(SecTrustRef *)), isSecCertificate, REQUIRED, errSecParam) \
    ROW(SecTrustCreateWithCertificates, policies, (certificate, object, OUT(SecTrustRef *)), isPolicyOrArray, OPTIONAL, errSecParam) \
    ROW(SecTrustSetAnchorCertificates, trust, ((SecTrustRef)object, NULL), isSecTrust, REQUIRED, errSecParam) \
    ROW(SecTrustSetAnchorCertificates, anchorCertificates, (trust, object), isCFArray, OPTIONAL, errSecParam) \
    ROW(SecTrustSetAnchorCertificatesOnly, trust, ((SecTrustRef)object, TRUE), isSecTrust, REQUIRED, errSecParam) \
    ROW(SecTrustSetVerifyDate, trust, ((SecTrustRef)object, NULL), isSecTrust, REQUIRED, errSecParam) \
    ROW(SecTrustSetVerifyDate, verifyDate, (trust, object), isCFDate, OPTIONAL, errSecParam) \
    ROW(SecTrustEvaluateWithError, trust, ((SecTrustRef)object, NULL), isSecTrust, REQUIRED, 0) \
    ROW(SecTrustGetTrustResult, trust, ((SecTrustRef)object, NUMBER), isSecTrust, REQUIRED, errSecParam) \
    ROW(SecTrustCopyCertificateChain, trust, ((SecTrustRef)object), isSecTrust, REQUIRED, 0) \
    ROW(SCDynamicStoreCreate, name, (NULL, object, NULL, NULL), isCFString, REQUIRED, 0) \
    ROW(SCDynamicStoreCreateWithOptions, name, (NULL, object, NULL, NULL, NULL), isCFString, REQUIRED, 0) \
    ROW(SCDynamicStoreCreateWithOptions, storeOptions, (NULL, CFSTR("tests"), object, NULL, NULL), isCFDictionary, OPTIONAL, 0) \
    ROW(SCDynamicStoreCreateRunLoopSource, store, (NULL, object, 0), isSCDynamicStore, REQUIRED, 0) \
    ROW(SCDynamicStoreSetDispatchQueue, store, (object, NULL), isSCDynamicStore, REQUIRED, 0) \
    ROW(SCDynamicStoreCopyKeyList, store, (object, CFSTR("x")), isSCDynamicStore, OPTIONAL, 0) \
    ROW(SCDynamicStoreCopyKeyList, pattern, (store, object), isCFString, REQUIRED, 0) \
    ROW(SCDynamicStoreCopyValue, store, (object, CFSTR("Setup:/System")), isSCDynamicStore, OPTIONAL, 0) \
    ROW(SCDynamicStoreCopyValue, key, (store, object), isCFString, REQUIRED, 0) \
    ROW(SCDynamicStoreCopyMultiple, store, (object, NULL, NULL), isSCDynamicStore, OPTIONAL, 0) \
    ROW(SCDynamicStoreCopyMultiple, keys, (store, object, NULL), isCFArray, OPTIONAL, 0) \
    ROW(SCDynamicStoreCopyMultiple, patterns, (store, NULL, object), isCFArray, OPTIONAL, 0) \
    ROW(SCDynamicStoreSetNotificationKeys, store, (object, NULL, NULL), isSCDynamicStore, REQUIRED, 0) \
    ROW(SCDynamicStoreSetNotificationKeys, keys, (store, object, NULL), isCFArray, OPTIONAL, 0) \
    ROW(SCDynamicStoreSetNotificationKeys, patterns, (store, NULL, object), isCFArray, OPTIONAL, 0) \
    ROW(SCDynamicStoreCopyNotifiedKeys, store, (object), isSCDynamicStore, REQUIRED, 0) \
    ROW(SCDynamicStoreAddValue, store, (object, CFSTR("a"), CFSTR("b")), isSCDynamicStore, OPTIONAL, 0) \
    ROW(SCDynamicStoreAddValue, key, (NULL, object, CFSTR("b")), isCFString, REQUIRED, 0) \
    ROW(SCDynamicStoreAddValue, value, (NULL, CFSTR("a"), object), isPropertyList, REQUIRED, 0) \
    ROW(SCDynamicStoreAddTemporaryValue, store, (object, CFSTR("a"), CFSTR("b")), isSCDynamicStore, OPTIONAL, 0) \
    ROW(SCDynamicStoreAddTemporaryValue, key, (NULL, object, CFSTR("b")), isCFString, REQUIRED, 0) \
    ROW(SCDynamicStoreAddTemporaryValue, value, (NULL, CFSTR("a"), object), isPropertyList, REQUIRED, 0) \
    ROW(SCDynamicStoreSetValue, store, (object, CFSTR("a"), CFSTR("b")), isSCDynamicStore, OPTIONAL, 0) \
    ROW(SCDynamicStoreSetValue, key, (NULL, object, CFSTR("b")), isCFString, REQUIRED, 0) \
    ROW(SCDynamicStoreSetValue, value, (NULL, CFSTR("a"), object), isPropertyList, REQUIRED, 0) \
    ROW(SCDynamicStoreSetMultiple, store, (object, NULL, NULL, NULL), isSCDynamicStore, OPTIONAL, 0) \
    ROW(SCDynamicStoreSetMultiple, keysToSet, (NULL, object, NULL, NULL), isCFDictionary, OPTIONAL, 0) \
    ROW(SCDynamicStoreSetMultiple, keysToRemove, (NULL, NULL, object, NULL), isCFArray, OPTIONAL, 0) \
    ROW(SCDynamicStoreSetMultiple, keysToNotify, (NULL, NULL, NULL, object), isCFArray, OPTIONAL, 0) \
    ROW(SCDynamicStoreRemoveValue, store, (object, CFSTR("a")), isSCDynamicStore, OPTIONAL, 0) \
    ROW(SCDynamicStoreRemoveValue, key, (NULL, object), isCFString, REQUIRED, 0) \
    ROW(SCDynamicStoreNotifyValue, store, (object, CFSTR("a")), isSCDynamicStore, OPTIONAL, 0) \
    ROW(SCDynamicStoreNotifyValue, key, (NULL, object), isCFString, REQUIRED, 0) \
    ROW(SCDynamicStoreCopyComputerName, store, (object, NULL), isSCDynamicStore, OPTIONAL, 0) \
    ROW(SCDynamicStoreCopyLocalHostName, store, (object), isSCDynamicStore, OPTIONAL, 0) \
    ROW(SCDynamicStoreCopyLocation, store, (object), isSCDynamicStore, OPTIONAL, 0) \
    ROW(SCDynamicStoreCopyProxies, store, (object), isSCDynamicStore, OPTIONAL, 0) \
    ROW(SCDynamicStoreKeyCreateNetworkGlobalEntity, domain, (NULL, object, CFSTR("a")), isCFString, REQUIRED, 0) \
    ROW(SCDynamicStoreKeyCreateNetworkGlobalEntity, entity, (NULL, CFSTR("a"), object), isCFString, REQUIRED, 0) \
    ROW(SCDynamicStoreKeyCreateNetworkInterface, domain, (NULL, object), isCFString, REQUIRED, 0) \
    ROW(SCDynamicStoreKeyCreateNetworkInterfaceEntity, ifname, (NULL, CFSTR("a"), object, NULL), isCFString, REQUIRED, 0) \
    ROW(SCDynamicStoreKeyCreateNetworkInterfaceEntity, entity, (NULL, CFSTR("a"), CFSTR("b"), object), isCFString, OPTIONAL, 0) \
    ROW(SCDynamicStoreKeyCreateNetworkServiceEntity, serviceID, (NULL, CFSTR("a"), object, NULL), isCFString, REQUIRED, 0) \
    ROW(SCNetworkReachabilityGetFlags, target, (object, NUMBER), isSCNetworkReachability, REQUIRED, 0) \
    ROW(SCNetworkReachabilitySetCallback, target, (object, NULL, NULL), isSCNetworkReachability, REQUIRED, 0) \
    ROW(SCNetworkReachabilityScheduleWithRunLoop, target, (object, CFRunLoopGetCurrent(), kCFRunLoopDefaultMode), isSCNetworkReachability, REQUIRED, 0) \
    ROW(SCNetworkReachabilityScheduleWithRunLoop, runLoop, (target, (CFRunLoopRef)object, kCFRunLoopDefaultMode), isCFRunLoop, REQUIRED, 0) \
    ROW(SCNetworkReachabilityScheduleWithRunLoop, runLoopMode, (target, CFRunLoopGetCurrent(), object), isCFString, REQUIRED, 0) \
    ROW(SCNetworkReachabilityUnscheduleFromRunLoop, target, (object, CFRunLoopGetCurrent(), kCFRunLoopDefaultMode), isSCNetworkReachability, REQUIRED, 0) \
    ROW(SCNetworkReachabilityUnscheduleFromRunLoop, runLoop, (target, (CFRunLoopRef)object, kCFRunLoopDefaultMode), isCFRunLoop, REQUIRED, 0) \
    ROW(SCNetworkReachabilityUnscheduleFromRunLoop, runLoopMode, (target, CFRunLoopGetCurrent(), object), isCFString, REQUIRED, 0) \
    ROW(SCNetworkReachabilitySetDispatchQueue, target, (object, NULL), isSCNetworkReachability, REQUIRED, 0) \
    ROW(SCDynamicStoreKeyCreate, fmt, (NULL, object, 7), isCFString, REQUIRED, 0) \
    ROW(SCDynamicStoreKeyCreateNetworkInterfaceEntity, domain, (NULL, object, CFSTR("b"), NULL), isCFString, REQUIRED, 0) \
    ROW(SCDynamicStoreKeyCreateNetworkServiceEntity, domain, (NULL, object, CFSTR("b"), NULL), isCFString, REQUIRED, 0) \
    ROW(SCDynamicStoreKeyCreateNetworkServiceEntity, entity, (NULL, CFSTR("a"), CFSTR("b"), object), isCFString, OPTIONAL, 0)

#define DEFINE(function, argument, arguments, ...) \
    static long function##_##argument(CFTypeRef object) { return (long)function arguments; }
OBJECTS(DEFINE)

/// An argument that is an object.
struct Row {
    const char *function, *argument;
    long (*call)(CFTypeRef object);
    Boolean (*accepts)(CFTypeRef object);
    int need;
    long refusal;
};

#define ENTRY(function, argument, arguments, accepts, need, refusal) {#function, #argument, function##_##argument, accepts, need, refusal},
static const struct Row rows[] = {OBJECTS(ENTRY)};
enum { rowCount = sizeof rows / sizeof *rows };

static Boolean isAccepted(const struct Row *row, CFTypeRef object) { return object == NULL ? row->need == OPTIONAL : row->accepts(object); }

/// Whether SCError is one of those for an argument that is missing or of another type; functions of Security do not set it.
static Boolean hasRefused(const char *function) {
    if (strncmp(function, "SC", 2) != 0) return TRUE;
    return SCError() == kSCStatusInvalidArgument || SCError() == kSCStatusNoStoreSession;
}

// MARK: Pointers

static SecKeychainAttributeList noAttributes = {1, NULL};
static const struct sockaddr otherFamily = {.sa_family = AF_UNIX};
static const struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = 80};
static void changed(SCDynamicStoreRef store, CFArrayRef keys, void *info) {}
static void reached(SCNetworkReachabilityRef target, SCNetworkReachabilityFlags flags, void *info) {}

/// Whether there is an object, which is released.
static long released(CFTypeRef object) {
    if (object != NULL) CFRelease(object);
    return object != NULL;
}

#define ADD(server, domain, account, path, password, itemRef) \
    SecKeychainAddInternetPassword(NULL, 1, server, 1, domain, 1, account, 1, path, 0, 0, 0, 1, password, itemRef)
#define FIND(server, domain, account, path, length, password, itemRef) \
    SecKeychainFindInternetPassword(NULL, 1, server, 1, domain, 1, account, 1, path, 0, 0, 0, length, password, itemRef)

/// A function, one of its arguments, the result of a call with NULL or something invalid for that, and the call. The results of objects are those of
/// `released`.
#define POINTERS(ROW) \
    ROW(SecCopyErrorMessageString, reserved, 0, released(SecCopyErrorMessageString(0, &number))) \
    ROW(SecCertificateCopyCommonName, commonName, errSecParam, SecCertificateCopyCommonName(certificate, NULL)) \
    /* With an identity: CFNetworkIdentityProgram. */ \
    ROW(SecIdentityCopyCertificate, certificateRef, errSecParam, SecIdentityCopyCertificate(NULL, NULL)) \
    ROW(SecPKCS12Import, items, errSecParam, SecPKCS12Import(data, NULL, NULL)) \
    ROW(SecItemAdd, result, errSecSuccess, SecItemAdd(attributes, NULL)) \
    ROW(SecItemCopyMatching, result, errSecSuccess, SecItemCopyMatching(attributes, NULL)) \
    ROW(SecKeychainAddInternetPassword, serverName, errSecParam, ADD(NULL, "b", "c", "d", "e", OUT(SecKeychainItemRef *))) \
    ROW(SecKeychainAddInternetPassword, securityDomain, errSecParam, ADD("a", NULL, "c", "d", "e", OUT(SecKeychainItemRef *))) \
    ROW(SecKeychainAddInternetPassword, accountName, errSecParam, ADD("a", "b", NULL, "d", "e", OUT(SecKeychainItemRef *))) \
    ROW(SecKeychainAddInternetPassword, path, errSecParam, ADD("a", "b", "c", NULL, "e", OUT(SecKeychainItemRef *))) \
    ROW(SecKeychainAddInternetPassword, passwordData, errSecParam, ADD("a", "b", "c", "d", NULL, OUT(SecKeychainItemRef *))) \
    ROW(SecKeychainAddInternetPassword, itemRef, errSecSuccess, ADD("a", "b", "c", "d", "e", NULL)) \
    ROW(SecKeychainFindInternetPassword, serverName, errSecParam, FIND(NULL, "b", "c", "d", NUMBER, NULL, OUT(SecKeychainItemRef *))) \
    ROW(SecKeychainFindInternetPassword, securityDomain, errSecParam, FIND("a", NULL, "c", "d", NUMBER, NULL, OUT(SecKeychainItemRef *))) \
    ROW(SecKeychainFindInternetPassword, accountName, errSecParam, FIND("a", "b", NULL, "d", NUMBER, NULL, OUT(SecKeychainItemRef *))) \
    ROW(SecKeychainFindInternetPassword, path, errSecParam, FIND("a", "b", "c", NULL, NUMBER, NULL, OUT(SecKeychainItemRef *))) \
    ROW(SecKeychainFindInternetPassword, passwordLength, errSecSuccess, FIND("a", "b", "c", "d", NULL, NULL, NULL)) \
    ROW(SecKeychainFindInternetPassword, passwordData, errSecSuccess, FIND("a", "b", "c", "d", NULL, NULL, NULL)) \
    ROW(SecKeychainFindInternetPassword, itemRef, errSecSuccess, FIND("a", "b", "c", "d", NULL, NULL, NULL)) \
    ROW(SecKeychainItemModifyContent, attrList, errSecParam, SecKeychainItemModifyContent(item, &noAttributes, 1, "x")) \
    ROW(SecKeychainItemModifyContent, data, errSecParam, SecKeychainItemModifyContent(item, NULL, 1, NULL)) \
    ROW(SecKeychainItemCopyContent, itemClass, errSecSuccess, SecKeychainItemCopyContent(item, NULL, NULL, NULL, NULL)) \
    ROW(SecKeychainItemCopyContent, attrList, errSecParam, SecKeychainItemCopyContent(item, NULL, &noAttributes, NUMBER, OUT(void **))) \
    ROW(SecKeychainItemCopyContent, length, errSecSuccess, SecKeychainItemCopyContent(item, NULL, NULL, NULL, NULL)) \
    ROW(SecKeychainItemCopyContent, outData, errSecSuccess, SecKeychainItemCopyContent(item, NULL, NULL, NULL, NULL)) \
    ROW(SecKeychainItemFreeContent, attrList, errSecSuccess, SecKeychainItemFreeContent(&noAttributes, NULL)) \
    ROW(SecKeychainItemFreeContent, data, errSecSuccess, SecKeychainItemFreeContent(NULL, NULL)) \
    ROW(SecKeychainSearchCreateFromAttributes, attrList, errSecParam, \
        SecKeychainSearchCreateFromAttributes(NULL, kSecInternetPasswordItemClass, &noAttributes, OUT(SecKeychainSearchRef *))) \
    ROW(SecKeychainSearchCreateFromAttributes, searchRef, errSecParam, SecKeychainSearchCreateFromAttributes(NULL, kSecInternetPasswordItemClass, NULL, NULL)) \
    ROW(SecKeychainSearchCopyNext, itemRef, errSecParam, SecKeychainSearchCopyNext(search, NULL)) \
    ROW(SecTrustCreateWithCertificates, trust, errSecParam, SecTrustCreateWithCertificates(certificate, NULL, NULL)) \
    ROW(SecTrustEvaluateWithError, error, FALSE, SecTrustEvaluateWithError(trust, NULL)) \
    ROW(SecTrustGetTrustResult, result, errSecParam, SecTrustGetTrustResult(trust, NULL)) \
    ROW(SCDynamicStoreCreate, callout, TRUE, released(SCDynamicStoreCreate(NULL, CFSTR("tests"), NULL, NULL))) \
    ROW(SCDynamicStoreCreate, context, TRUE, released(SCDynamicStoreCreate(NULL, CFSTR("tests"), changed, NULL))) \
    ROW(SCDynamicStoreCreateWithOptions, callout, TRUE, released(SCDynamicStoreCreateWithOptions(NULL, CFSTR("tests"), NULL, NULL, NULL))) \
    ROW(SCDynamicStoreCreateWithOptions, context, TRUE, released(SCDynamicStoreCreateWithOptions(NULL, CFSTR("tests"), NULL, changed, NULL))) \
    ROW(SCDynamicStoreSetDispatchQueue, queue, TRUE, SCDynamicStoreSetDispatchQueue(store, NULL)) \
    ROW(SCDynamicStoreCopyComputerName, nameEncoding, TRUE, released(SCDynamicStoreCopyComputerName(store, NULL))) \
    ROW(SCNetworkReachabilityCreateWithAddress, address, FALSE, released(SCNetworkReachabilityCreateWithAddress(NULL, NULL))) \
    ROW(SCNetworkReachabilityCreateWithAddress, address, FALSE, released(SCNetworkReachabilityCreateWithAddress(NULL, &otherFamily))) \
    ROW(SCNetworkReachabilityCreateWithAddressPair, localAddress, FALSE, released(SCNetworkReachabilityCreateWithAddressPair(NULL, NULL, NULL))) \
    ROW(SCNetworkReachabilityCreateWithAddressPair, localAddress, FALSE, \
        released(SCNetworkReachabilityCreateWithAddressPair(NULL, &otherFamily, (const struct sockaddr *)&address))) \
    ROW(SCNetworkReachabilityCreateWithAddressPair, remoteAddress, FALSE, \
        released(SCNetworkReachabilityCreateWithAddressPair(NULL, (const struct sockaddr *)&address, &otherFamily))) \
    ROW(SCNetworkReachabilityCreateWithName, nodename, FALSE, released(SCNetworkReachabilityCreateWithName(NULL, NULL))) \
    ROW(SCNetworkReachabilityCreateWithName, nodename, FALSE, released(SCNetworkReachabilityCreateWithName(NULL, ""))) \
    ROW(SCNetworkReachabilityGetFlags, flags, FALSE, SCNetworkReachabilityGetFlags(target, NULL)) \
    ROW(SCNetworkReachabilitySetCallback, context, TRUE, SCNetworkReachabilitySetCallback(target, reached, NULL)) \
    ROW(SCNetworkReachabilitySetCallback, callout, TRUE, SCNetworkReachabilitySetCallback(target, NULL, NULL)) \
    ROW(SCNetworkReachabilitySetDispatchQueue, queue, TRUE, SCNetworkReachabilitySetDispatchQueue(target, NULL))

/// Calls each row. Returns the number of the first one with another result, or with the wrong SCError; -1 if there is none.
static int firstWrongPointer(void) {
    int row = -1;
#define TRY(function, argument, wanted, call) \
    row++; \
    { \
        long found = (long)(call); \
        Boolean isRefused = strncmp(#function, "SC", 2) == 0 && found == 0; \
        if (found != (wanted) || result != NULL || number != 0 || (isRefused && !hasRefused(#function))) return row; \
    }
    POINTERS(TRY)
    return -1;
}

#define NAME(function, argument, ...) #function " " #argument,
static const char *const names[] = {OBJECTS(NAME) POINTERS(NAME)};
enum { nameCount = sizeof names / sizeof *names };

const char *CFNetworkMistakeName(int index) { return index < nameCount ? names[index] : NULL; }

// MARK: The program

const char *CFNetworkMistakesProgram(const UInt8 *bytes, CFIndex count) {
    static char failure[128];
    const char *folder = useOwnKeychain();
    data = CFDataCreate(NULL, bytes, count);
    certificate = SecCertificateCreateWithData(NULL, data);
    CHECK(certificate != NULL && SecTrustCreateWithCertificates(certificate, NULL, &trust) == errSecSuccess);
    store = SCDynamicStoreCreate(NULL, CFSTR("tests"), NULL, NULL);
    target = SCNetworkReachabilityCreateWithName(NULL, "127.0.0.1");
    CHECK(SecKeychainAddInternetPassword(NULL, 1, "z", 0, NULL, 1, "z", 0, NULL, 0, 0, 0, 0, NULL, &item) == errSecSuccess);
    CHECK(SecKeychainSearchCreateFromAttributes(NULL, kSecInternetPasswordItemClass, NULL, &search) == errSecSuccess);
    attributes = CFDictionaryCreateMutable(NULL, 0, &kCFTypeDictionaryKeyCallBacks, &kCFTypeDictionaryValueCallBacks);
    CFDictionarySetValue(attributes, kSecClass, kSecClassInternetPassword);
    CFDictionarySetValue(attributes, kSecAttrServer, CFSTR("y"));
    CFDictionarySetValue(attributes, kSecAttrAccount, CFSTR("y"));
    changes = CFDictionaryCreate(NULL, NULL, NULL, 0, &kCFTypeDictionaryKeyCallBacks, &kCFTypeDictionaryValueCallBacks);
    CHECK(SCNetworkReachabilityScheduleWithRunLoop(target, CFRunLoopGetCurrent(), kCFRunLoopDefaultMode));
    int seven = 7;
    const CFTypeRef objects[] = {
        NULL, data, certificate, trust, store, target, item, search, SecPolicyCreateBasicX509(), CFSTR("a string"), kCFBooleanTrue, kCFNull,
        CFNumberCreate(NULL, kCFNumberIntType, &seven), CFDateCreate(NULL, 0), CFArrayCreate(NULL, NULL, 0, &kCFTypeArrayCallBacks),
        changes, CFURLCreateWithString(NULL, CFSTR("http://a/"), NULL), CFHTTPMessageCreateEmpty(NULL, TRUE), CFHostCreateWithName(NULL, CFSTR("localhost")),
        CFErrorCreate(NULL, kCFErrorDomainPOSIX, 1, NULL)};
    for (int row = 0; row < rowCount; row++) {
        for (size_t index = 0; index < sizeof objects / sizeof *objects; index++) {
            if (isAccepted(&rows[row], objects[index])) continue;
            if (rows[row].call(objects[index]) == rows[row].refusal && result == NULL && number == 0 && hasRefused(rows[row].function)) continue;
            snprintf(failure, sizeof failure, "%s accepts object %zu", names[row], index);
            return failure;
        }
    }
    int wrong = firstWrongPointer();
    if (wrong >= 0) {
        snprintf(failure, sizeof failure, "%s has another result in row %d of the pointers", names[rowCount + wrong], wrong);
        return failure;
    }
    CHECK(SCNetworkReachabilityUnscheduleFromRunLoop(target, CFRunLoopGetCurrent(), kCFRunLoopDefaultMode));
    for (size_t index = 1; index < sizeof objects / sizeof *objects; index++) CFRelease(objects[index]);
    CFRelease(attributes);
    removeKeychain(folder);
    return NULL;
}
