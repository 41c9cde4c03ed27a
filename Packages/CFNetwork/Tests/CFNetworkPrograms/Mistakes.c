// Arguments of another type: each function of Security and SystemConfiguration that takes an object gets NULL and objects of all other types.

#include "CFNetworkPrograms.h"
#include "Check.h"
#include <CFNetwork/CFNetwork.h>
#include <Security/Security.h>
#include <SystemConfiguration/SystemConfiguration.h>
#include <stdio.h>
#include <string.h>

/// The results that the calls write. None is written by a call that fails.
static CFTypeRef result;
static UInt32 number;

static SCDynamicStoreRef store;
static SCNetworkReachabilityRef target;
static SecCertificateRef certificate;
static SecTrustRef trust;

/// A function and one of its arguments.
struct Row {
    /// The function, which is named more than once if several arguments are objects.
    const char *function;
    long (*call)(CFTypeRef object);
    /// The result of a call that is refused.
    long refusal;
    /// The type that the argument has; 0 for none, so that each object is refused.
    CFTypeID (*type)(void);
    /// Another type that the argument may have.
    CFTypeID (*otherType)(void);
    /// Whether NULL is accepted as well.
    Boolean isOptional;
};

#define CALL(number, expression) static long call##number(CFTypeRef object) { return (long)(expression); }
#define OUT(type) ((type)(void *)&result)
#define NUMBER ((void *)&number)

CALL(1, SecCertificateCreateWithData(NULL, object))
CALL(2, SecCertificateCopyData((SecCertificateRef)object))
CALL(3, SecCertificateCopySubjectSummary((SecCertificateRef)object))
CALL(4, SecCertificateCopyCommonName((SecCertificateRef)object, OUT(CFStringRef *)))
CALL(5, SecIdentityCopyCertificate((SecIdentityRef)object, OUT(SecCertificateRef *)))
CALL(6, SecPKCS12Import(object, NULL, OUT(CFArrayRef *)))
CALL(7, SecItemAdd(object, OUT(CFTypeRef *)))
CALL(8, SecItemCopyMatching(object, OUT(CFTypeRef *)))
CALL(9, SecItemUpdate(object, NULL))
CALL(10, SecItemUpdate(NULL, object))
CALL(11, SecItemDelete(object))
CALL(12, SecKeychainAddInternetPassword((SecKeychainRef)object, 1, "a", 0, NULL, 1, "b", 0, NULL, 0, 0, 0, 1, "c", OUT(SecKeychainItemRef *)))
CALL(13, SecKeychainFindInternetPassword(object, 1, "a", 0, NULL, 0, NULL, 0, NULL, 0, 0, 0, NUMBER, NULL, OUT(SecKeychainItemRef *)))
CALL(14, SecKeychainItemModifyContent((SecKeychainItemRef)object, NULL, 1, "x"))
CALL(15, SecKeychainItemCopyContent((SecKeychainItemRef)object, NULL, NULL, NUMBER, OUT(void **)))
CALL(16, SecKeychainItemDelete((SecKeychainItemRef)object))
CALL(17, SecKeychainSearchCreateFromAttributes(object, kSecInternetPasswordItemClass, NULL, OUT(SecKeychainSearchRef *)))
CALL(18, SecKeychainSearchCopyNext((SecKeychainSearchRef)object, OUT(SecKeychainItemRef *)))
CALL(19, SecPolicyCreateSSL(TRUE, object))
CALL(20, SecTrustCreateWithCertificates(object, NULL, OUT(SecTrustRef *)))
CALL(21, SecTrustCreateWithCertificates(certificate, object, OUT(SecTrustRef *)))
CALL(22, SecTrustSetAnchorCertificates((SecTrustRef)object, NULL))
CALL(23, SecTrustSetAnchorCertificates(trust, object))
CALL(24, SecTrustSetAnchorCertificatesOnly((SecTrustRef)object, TRUE))
CALL(25, SecTrustSetVerifyDate((SecTrustRef)object, NULL))
CALL(26, SecTrustSetVerifyDate(trust, object))
CALL(27, SecTrustEvaluateWithError((SecTrustRef)object, NULL))
CALL(28, SecTrustGetTrustResult((SecTrustRef)object, NUMBER))
CALL(29, SecTrustCopyCertificateChain((SecTrustRef)object))

CALL(40, SCDynamicStoreCreate(NULL, object, NULL, NULL))
CALL(41, SCDynamicStoreCreateWithOptions(NULL, object, NULL, NULL, NULL))
CALL(42, SCDynamicStoreCreateWithOptions(NULL, CFSTR("tests"), object, NULL, NULL))
CALL(43, SCDynamicStoreCreateRunLoopSource(NULL, object, 0))
CALL(44, SCDynamicStoreSetDispatchQueue(object, NULL))
CALL(45, SCDynamicStoreCopyKeyList(object, CFSTR("x")))
CALL(46, SCDynamicStoreCopyKeyList(store, object))
CALL(47, SCDynamicStoreCopyValue(object, CFSTR("Setup:/System")))
CALL(48, SCDynamicStoreCopyValue(store, object))
CALL(49, SCDynamicStoreCopyMultiple(object, NULL, NULL))
CALL(50, SCDynamicStoreCopyMultiple(store, object, NULL))
CALL(51, SCDynamicStoreCopyMultiple(store, NULL, object))
CALL(52, SCDynamicStoreSetNotificationKeys(object, NULL, NULL))
CALL(53, SCDynamicStoreSetNotificationKeys(store, object, NULL))
CALL(54, SCDynamicStoreSetNotificationKeys(store, NULL, object))
CALL(55, SCDynamicStoreCopyNotifiedKeys(object))
CALL(56, SCDynamicStoreAddValue(object, CFSTR("a"), CFSTR("b")))
CALL(57, SCDynamicStoreAddTemporaryValue(object, CFSTR("a"), CFSTR("b")))
CALL(58, SCDynamicStoreSetValue(object, CFSTR("a"), CFSTR("b")))
CALL(59, SCDynamicStoreSetMultiple(object, NULL, NULL, NULL))
CALL(60, SCDynamicStoreRemoveValue(object, CFSTR("a")))
CALL(61, SCDynamicStoreNotifyValue(object, CFSTR("a")))
CALL(62, SCDynamicStoreCopyComputerName(object, NULL))
CALL(63, SCDynamicStoreCopyLocalHostName(object))
CALL(64, SCDynamicStoreCopyLocation(object))
CALL(65, SCDynamicStoreCopyProxies(object))
CALL(66, SCDynamicStoreKeyCreateNetworkGlobalEntity(NULL, object, CFSTR("a")))
CALL(67, SCDynamicStoreKeyCreateNetworkGlobalEntity(NULL, CFSTR("a"), object))
CALL(68, SCDynamicStoreKeyCreateNetworkInterface(NULL, object))
CALL(69, SCDynamicStoreKeyCreateNetworkInterfaceEntity(NULL, CFSTR("a"), object, NULL))
CALL(70, SCDynamicStoreKeyCreateNetworkInterfaceEntity(NULL, CFSTR("a"), CFSTR("b"), object))
CALL(71, SCDynamicStoreKeyCreateNetworkServiceEntity(NULL, CFSTR("a"), object, NULL))
CALL(72, SCNetworkReachabilityGetFlags(object, NUMBER))
CALL(73, SCNetworkReachabilitySetCallback(object, NULL, NULL))
CALL(74, SCNetworkReachabilityScheduleWithRunLoop(object, CFRunLoopGetCurrent(), kCFRunLoopDefaultMode))
CALL(75, SCNetworkReachabilityScheduleWithRunLoop(target, (CFRunLoopRef)object, kCFRunLoopDefaultMode))
CALL(76, SCNetworkReachabilityScheduleWithRunLoop(target, CFRunLoopGetCurrent(), object))
CALL(77, SCNetworkReachabilityUnscheduleFromRunLoop(object, CFRunLoopGetCurrent(), kCFRunLoopDefaultMode))
CALL(78, SCNetworkReachabilitySetDispatchQueue(object, NULL))
CALL(79, SCDynamicStoreKeyCreate(NULL, object, 7))
CALL(80, SCDynamicStoreKeyCreateNetworkInterfaceEntity(NULL, object, CFSTR("b"), NULL))
CALL(81, SCDynamicStoreKeyCreateNetworkServiceEntity(NULL, object, CFSTR("b"), NULL))

static const struct Row rows[] = {
    {"SecCertificateCreateWithData", call1, 0, CFDataGetTypeID, NULL, FALSE},
    {"SecCertificateCopyData", call2, 0, SecCertificateGetTypeID, NULL, FALSE},
    {"SecCertificateCopySubjectSummary", call3, 0, SecCertificateGetTypeID, NULL, FALSE},
    {"SecCertificateCopyCommonName", call4, errSecParam, SecCertificateGetTypeID, NULL, FALSE},
    {"SecIdentityCopyCertificate", call5, errSecParam, SecIdentityGetTypeID, NULL, FALSE},
    {"SecPKCS12Import", call6, errSecParam, CFDataGetTypeID, NULL, FALSE},
    {"SecItemAdd", call7, errSecParam, CFDictionaryGetTypeID, NULL, FALSE},
    {"SecItemCopyMatching", call8, errSecParam, CFDictionaryGetTypeID, NULL, FALSE},
    {"SecItemUpdate", call9, errSecParam, CFDictionaryGetTypeID, NULL, FALSE},
    {"SecItemUpdate", call10, errSecParam, CFDictionaryGetTypeID, NULL, FALSE},
    {"SecItemDelete", call11, errSecParam, CFDictionaryGetTypeID, NULL, FALSE},
    {"SecKeychainAddInternetPassword", call12, errSecInvalidKeychain, NULL, NULL, TRUE},
    {"SecKeychainFindInternetPassword", call13, errSecInvalidKeychain, NULL, NULL, TRUE},
    {"SecKeychainItemModifyContent", call14, errSecInvalidItemRef, SecKeychainItemGetTypeID, NULL, FALSE},
    {"SecKeychainItemCopyContent", call15, errSecInvalidItemRef, SecKeychainItemGetTypeID, NULL, FALSE},
    {"SecKeychainItemDelete", call16, errSecInvalidItemRef, SecKeychainItemGetTypeID, NULL, FALSE},
    {"SecKeychainSearchCreateFromAttributes", call17, errSecInvalidKeychain, NULL, NULL, TRUE},
    {"SecKeychainSearchCopyNext", call18, errSecInvalidSearchRef, SecKeychainSearchGetTypeID, NULL, FALSE},
    {"SecPolicyCreateSSL", call19, 0, CFStringGetTypeID, NULL, TRUE},
    {"SecTrustCreateWithCertificates", call20, errSecParam, SecCertificateGetTypeID, NULL, FALSE},
    {"SecTrustCreateWithCertificates", call21, errSecParam, SecPolicyGetTypeID, CFArrayGetTypeID, TRUE},
    {"SecTrustSetAnchorCertificates", call22, errSecParam, SecTrustGetTypeID, NULL, FALSE},
    {"SecTrustSetAnchorCertificates", call23, errSecParam, CFArrayGetTypeID, NULL, TRUE},
    {"SecTrustSetAnchorCertificatesOnly", call24, errSecParam, SecTrustGetTypeID, NULL, FALSE},
    {"SecTrustSetVerifyDate", call25, errSecParam, SecTrustGetTypeID, NULL, FALSE},
    {"SecTrustSetVerifyDate", call26, errSecParam, CFDateGetTypeID, NULL, TRUE},
    {"SecTrustEvaluateWithError", call27, 0, SecTrustGetTypeID, NULL, FALSE},
    {"SecTrustGetTrustResult", call28, errSecParam, SecTrustGetTypeID, NULL, FALSE},
    {"SecTrustCopyCertificateChain", call29, 0, SecTrustGetTypeID, NULL, FALSE},
    {"SCDynamicStoreCreate", call40, 0, CFStringGetTypeID, NULL, FALSE},
    {"SCDynamicStoreCreateWithOptions", call41, 0, CFStringGetTypeID, NULL, FALSE},
    {"SCDynamicStoreCreateWithOptions", call42, 0, CFDictionaryGetTypeID, NULL, TRUE},
    {"SCDynamicStoreCreateRunLoopSource", call43, 0, SCDynamicStoreGetTypeID, NULL, FALSE},
    {"SCDynamicStoreSetDispatchQueue", call44, 0, SCDynamicStoreGetTypeID, NULL, FALSE},
    {"SCDynamicStoreCopyKeyList", call45, 0, SCDynamicStoreGetTypeID, NULL, TRUE},
    {"SCDynamicStoreCopyKeyList", call46, 0, CFStringGetTypeID, NULL, FALSE},
    {"SCDynamicStoreCopyValue", call47, 0, SCDynamicStoreGetTypeID, NULL, TRUE},
    {"SCDynamicStoreCopyValue", call48, 0, CFStringGetTypeID, NULL, FALSE},
    {"SCDynamicStoreCopyMultiple", call49, 0, SCDynamicStoreGetTypeID, NULL, TRUE},
    {"SCDynamicStoreCopyMultiple", call50, 0, CFArrayGetTypeID, NULL, TRUE},
    {"SCDynamicStoreCopyMultiple", call51, 0, CFArrayGetTypeID, NULL, TRUE},
    {"SCDynamicStoreSetNotificationKeys", call52, 0, SCDynamicStoreGetTypeID, NULL, FALSE},
    {"SCDynamicStoreSetNotificationKeys", call53, 0, CFArrayGetTypeID, NULL, TRUE},
    {"SCDynamicStoreSetNotificationKeys", call54, 0, CFArrayGetTypeID, NULL, TRUE},
    {"SCDynamicStoreCopyNotifiedKeys", call55, 0, SCDynamicStoreGetTypeID, NULL, FALSE},
    {"SCDynamicStoreAddValue", call56, 0, SCDynamicStoreGetTypeID, NULL, TRUE},
    {"SCDynamicStoreAddTemporaryValue", call57, 0, SCDynamicStoreGetTypeID, NULL, TRUE},
    {"SCDynamicStoreSetValue", call58, 0, SCDynamicStoreGetTypeID, NULL, TRUE},
    {"SCDynamicStoreSetMultiple", call59, 0, SCDynamicStoreGetTypeID, NULL, TRUE},
    {"SCDynamicStoreRemoveValue", call60, 0, SCDynamicStoreGetTypeID, NULL, TRUE},
    {"SCDynamicStoreNotifyValue", call61, 0, SCDynamicStoreGetTypeID, NULL, TRUE},
    {"SCDynamicStoreCopyComputerName", call62, 0, SCDynamicStoreGetTypeID, NULL, TRUE},
    {"SCDynamicStoreCopyLocalHostName", call63, 0, SCDynamicStoreGetTypeID, NULL, TRUE},
    {"SCDynamicStoreCopyLocation", call64, 0, SCDynamicStoreGetTypeID, NULL, TRUE},
    {"SCDynamicStoreCopyProxies", call65, 0, SCDynamicStoreGetTypeID, NULL, TRUE},
    {"SCDynamicStoreKeyCreateNetworkGlobalEntity", call66, 0, CFStringGetTypeID, NULL, FALSE},
    {"SCDynamicStoreKeyCreateNetworkGlobalEntity", call67, 0, CFStringGetTypeID, NULL, FALSE},
    {"SCDynamicStoreKeyCreateNetworkInterface", call68, 0, CFStringGetTypeID, NULL, FALSE},
    {"SCDynamicStoreKeyCreateNetworkInterfaceEntity", call69, 0, CFStringGetTypeID, NULL, FALSE},
    {"SCDynamicStoreKeyCreateNetworkInterfaceEntity", call70, 0, CFStringGetTypeID, NULL, TRUE},
    {"SCDynamicStoreKeyCreateNetworkServiceEntity", call71, 0, CFStringGetTypeID, NULL, FALSE},
    {"SCNetworkReachabilityGetFlags", call72, 0, SCNetworkReachabilityGetTypeID, NULL, FALSE},
    {"SCNetworkReachabilitySetCallback", call73, 0, SCNetworkReachabilityGetTypeID, NULL, FALSE},
    {"SCNetworkReachabilityScheduleWithRunLoop", call74, 0, SCNetworkReachabilityGetTypeID, NULL, FALSE},
    {"SCNetworkReachabilityScheduleWithRunLoop", call75, 0, CFRunLoopGetTypeID, NULL, FALSE},
    {"SCNetworkReachabilityScheduleWithRunLoop", call76, 0, CFStringGetTypeID, NULL, FALSE},
    {"SCNetworkReachabilityUnscheduleFromRunLoop", call77, 0, SCNetworkReachabilityGetTypeID, NULL, FALSE},
    {"SCNetworkReachabilitySetDispatchQueue", call78, 0, SCNetworkReachabilityGetTypeID, NULL, FALSE},
    {"SCDynamicStoreKeyCreate", call79, 0, CFStringGetTypeID, NULL, FALSE},
    {"SCDynamicStoreKeyCreateNetworkInterfaceEntity", call80, 0, CFStringGetTypeID, NULL, FALSE},
    {"SCDynamicStoreKeyCreateNetworkServiceEntity", call81, 0, CFStringGetTypeID, NULL, FALSE},
};

enum { rowCount = sizeof rows / sizeof *rows };

const char *CFNetworkMistakeFunction(int index) { return index < rowCount ? rows[index].function : NULL; }

static Boolean isAccepted(const struct Row *row, CFTypeRef object) {
    if (object == NULL) return row->isOptional;
    CFTypeID type = CFGetTypeID(object);
    return (row->type != NULL && type == row->type()) || (row->otherType != NULL && type == row->otherType());
}

/// Whether SCError is one of those for an argument that is missing or of another type; functions of Security do not set it.
static Boolean hasStatus(const struct Row *row) {
    if (strncmp(row->function, "SC", 2) != 0) return TRUE;
    return SCError() == kSCStatusInvalidArgument || SCError() == kSCStatusNoStoreSession;
}

const char *CFNetworkMistakesProgram(const UInt8 *bytes, CFIndex count) {
    static char failure[128];
    CFDataRef data = CFDataCreate(NULL, bytes, count);
    certificate = SecCertificateCreateWithData(NULL, data);
    CHECK(certificate != NULL && SecTrustCreateWithCertificates(certificate, NULL, &trust) == errSecSuccess);
    store = SCDynamicStoreCreate(NULL, CFSTR("tests"), NULL, NULL);
    target = SCNetworkReachabilityCreateWithName(NULL, "127.0.0.1");
    int seven = 7;
    const CFTypeRef objects[] = {
        NULL, data, certificate, trust, store, target, SecPolicyCreateBasicX509(), CFSTR("a string"), kCFBooleanTrue, kCFNull,
        CFNumberCreate(NULL, kCFNumberIntType, &seven), CFDateCreate(NULL, 0), CFArrayCreate(NULL, NULL, 0, &kCFTypeArrayCallBacks),
        CFDictionaryCreate(NULL, NULL, NULL, 0, &kCFTypeDictionaryKeyCallBacks, &kCFTypeDictionaryValueCallBacks),
        CFURLCreateWithString(NULL, CFSTR("http://a/"), NULL), CFHTTPMessageCreateEmpty(NULL, TRUE), CFHostCreateWithName(NULL, CFSTR("localhost")),
        CFErrorCreate(NULL, kCFErrorDomainPOSIX, 1, NULL)};
    for (int row = 0; row < rowCount; row++) {
        for (size_t index = 0; index < sizeof objects / sizeof *objects; index++) {
            if (isAccepted(&rows[row], objects[index])) continue;
            if (rows[row].call(objects[index]) == rows[row].refusal && result == NULL && number == 0 && hasStatus(&rows[row])) continue;
            snprintf(failure, sizeof failure, "row %d, %s, accepts object %zu", row, rows[row].function, index);
            return failure;
        }
    }
    for (size_t index = 1; index < sizeof objects / sizeof *objects; index++) CFRelease(objects[index]);
    return NULL;
}
