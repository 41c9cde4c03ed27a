// Adds an internet password to the keychain, finds it, removes it, and prints what the roots of this machine say about a certificate.
//
//   cc passwords.c $(pkg-config --cflags --libs CFNetwork) -o passwords && ./passwords [SERVER [USER PASSWORD]]
//
// With a server, prints the users and passwords that the keychain has for it; with a user and a password as well, adds these. Source for C11 and later and for C++; nothing in it is specific to Linux.

#include <Security/Security.h>
#include <stdio.h>
#include <string.h>

static void report(const char *what, OSStatus status) {
    char text[256] = "";
    CFStringRef message = SecCopyErrorMessageString(status, NULL);
    CFStringGetCString(message, text, sizeof text, kCFStringEncodingUTF8);
    CFRelease(message);
    printf("%s: %s\n", what, text);
}

static void print(SecKeychainItemRef item) {
    SecKeychainAttribute attribute = {kSecAccountItemAttr, 0, NULL};
    SecKeychainAttributeList list = {1, &attribute};
    UInt32 length = 0;
    void *password = NULL;
    OSStatus status = SecKeychainItemCopyContent(item, NULL, &list, &length, &password);
    if (status != errSecSuccess) return report("read", status);
    printf("%.*s has %.*s\n", (int)attribute.length, (const char *)attribute.data, (int)length, (const char *)password);
    SecKeychainItemFreeContent(&list, password);
}

static int list(char *server) {
    SecKeychainAttribute attribute = {kSecServerItemAttr, (UInt32)strlen(server), server};
    SecKeychainAttributeList attributes = {1, &attribute};
    SecKeychainSearchRef search = NULL;
    SecKeychainItemRef item = NULL;
    OSStatus status = SecKeychainSearchCreateFromAttributes(NULL, kSecInternetPasswordItemClass, &attributes, &search);
    if (status != errSecSuccess) {
        report("search", status);
        return 1;
    }
    while (SecKeychainSearchCopyNext(search, &item) == errSecSuccess) {
        print(item);
        CFRelease(item);
    }
    CFRelease(search);
    return 0;
}

static int add(const char *server, const char *user, const char *password) {
    report("add", SecKeychainAddInternetPassword(NULL, (UInt32)strlen(server), server, 0, NULL, (UInt32)strlen(user), user, 0, NULL, 0,
                      kSecProtocolTypeAny, kSecAuthenticationTypeAny, (UInt32)strlen(password), password, NULL));
    return 0;
}

int main(int argc, char **argv) {
    if (argc > 3) return add(argv[1], argv[2], argv[3]);
    if (argc > 1) return list(argv[1]);
    static const char server[] = "passwords.example", user[] = "joe", password[] = "open sesame";
    SecKeychainItemRef item = NULL;
    OSStatus status = SecKeychainAddInternetPassword(NULL, sizeof server - 1, server, 0, NULL, sizeof user - 1, user, 0, NULL, 443,
        kSecProtocolTypeHTTPS, kSecAuthenticationTypeHTTPBasic, sizeof password - 1, password, &item);
    if (status != errSecSuccess) {
        report("add", status);
        return 1;
    }
    CFRelease(item);
    status = SecKeychainFindInternetPassword(NULL, sizeof server - 1, server, 0, NULL, 0, NULL, 0, NULL, 443, kSecProtocolTypeHTTPS,
        kSecAuthenticationTypeAny, NULL, NULL, &item);
    if (status == errSecSuccess) {
        print(item);
        report("delete", SecKeychainItemDelete(item));
        CFRelease(item);
    }
    report("find", SecKeychainFindInternetPassword(NULL, sizeof server - 1, server, 0, NULL, 0, NULL, 0, NULL, 443, kSecProtocolTypeHTTPS,
                       kSecAuthenticationTypeAny, NULL, NULL, NULL));
    CFDataRef data = CFDataCreate(NULL, (const UInt8 *)"no certificate", 14);
    printf("%s\n", SecCertificateCreateWithData(NULL, data) ? "a certificate" : "no certificate");
    CFRelease(data);
    return 0;
}
