#ifndef SECURITY_SECKEYCHAINITEM_H
#define SECURITY_SECKEYCHAINITEM_H

// The keychain, its limits and the errors that all functions have in common are those of SecKeychain.h. Another argument than an item is
// errSecInvalidItemRef.

#include <Security/SecBase.h>

CF_EXTERN_C_BEGIN

/// The class of an item.
typedef CF_ENUM(FourCharCode, SecItemClass) {
    /// An internet password ('inet'), the only class.
    kSecInternetPasswordItemClass = 0x696E6574,
};

/// The attributes of an internet password. Texts are UTF-8 without a final NUL.
typedef CF_ENUM(FourCharCode, SecItemAttr) {
    /// When the item was added ('cdat'): a text such as 20260131235959Z. Read only.
    kSecCreationDateItemAttr = 0x63646174,
    /// When the item was changed last ('mdat'), in the same form. Read only.
    kSecModDateItemAttr = 0x6D646174,
    /// The name of the item ('labl'), which password managers show.
    kSecLabelItemAttr = 0x6C61626C,
    /// The user name ('acct').
    kSecAccountItemAttr = 0x61636374,
    /// The realm ('sdmn').
    kSecSecurityDomainItemAttr = 0x73646D6E,
    /// The host name or address ('srvr').
    kSecServerItemAttr = 0x73727672,
    /// A SecAuthenticationType ('atyp').
    kSecAuthenticationTypeItemAttr = 0x61747970,
    /// The port number ('port'): a UInt32 in the machine's order; a UInt16 is accepted as well.
    kSecPortItemAttr = 0x706F7274,
    /// The path of the URL ('path').
    kSecPathItemAttr = 0x70617468,
    /// A SecProtocolType ('ptcl').
    kSecProtocolItemAttr = 0x7074636C,
};

/// The code of an attribute, a SecItemAttr.
typedef OSType SecKeychainAttrType;

/// One attribute and its value.
struct SecKeychainAttribute {
    SecKeychainAttrType tag;
    UInt32 length;
    void *_Nullable data;
};
/// One attribute and its value.
typedef struct SecKeychainAttribute SecKeychainAttribute;
/// A pointer to an attribute.
typedef SecKeychainAttribute *SecKeychainAttributePtr;

/// A list of attributes.
struct SecKeychainAttributeList {
    UInt32 count;
    SecKeychainAttribute *_Nullable attr;
};
/// A list of attributes.
typedef struct SecKeychainAttributeList SecKeychainAttributeList;

/// The type identifier of items.
CF_EXPORT CFTypeID SecKeychainItemGetTypeID(void);

/// Changes attributes of an item, and its password unless `data` is NULL, in place: everything else is kept, also what another program has changed
/// since the item was found. An attribute of length 0 is removed; the label is then the usual one. Fails with errSecItemNotFound if the item
/// is gone, with errSecNoSuchAttr for an attribute that cannot be changed, with errSecParam for an invalid value or without a server or
/// an account, and with errSecDuplicateItem if another item has the attributes. The item is then unchanged, except if a Secret Service fails between
/// its changes of the password, the attributes and the label.
CF_EXPORT OSStatus SecKeychainItemModifyContent(SecKeychainItemRef _Nullable itemRef, const SecKeychainAttributeList *_Nullable attrList, UInt32 length, const void *_Nullable data);

/// Reads the class, the listed attributes and the password that an item has now; each pointer may be NULL. The data of an attribute that the item lacks
/// is NULL. SecKeychainItemFreeContent releases what the function returns. Nothing is returned if the function fails: with
/// errSecItemNotFound if the item is gone, with errSecNoSuchAttr for an unknown attribute.
CF_EXPORT OSStatus SecKeychainItemCopyContent(SecKeychainItemRef _Nullable itemRef, SecItemClass *_Nullable itemClass, SecKeychainAttributeList *_Nullable attrList, UInt32 *_Nullable length, void *_Nullable *_Nullable outData);

/// Overwrites and releases a password and the attributes that functions of this library returned; each argument may be NULL.
CF_EXPORT OSStatus SecKeychainItemFreeContent(SecKeychainAttributeList *_Nullable attrList, void *_Nullable data);

/// Removes an item from the keychain. The reference stays valid; further calls with it fail with errSecItemNotFound.
CF_EXPORT OSStatus SecKeychainItemDelete(SecKeychainItemRef _Nullable itemRef);

CF_EXTERN_C_END

#endif
