#ifndef SECURITY_SECKEYCHAINSEARCH_H
#define SECURITY_SECKEYCHAINSEARCH_H

// The keychain, its limits and the errors that all functions have in common are those of SecKeychain.h.

#include <Security/SecBase.h>
#include <Security/SecKeychainItem.h>

CF_EXTERN_C_BEGIN

/// The type identifier of searches.
CF_EXPORT CFTypeID SecKeychainSearchGetTypeID(void);

/// Begins a search for the items with some attributes; a list that is NULL or empty finds all. The items are those at the time of the call.
/// `keychainOrArray` must be NULL: errSecInvalidKeychain. Fails with errSecNoSuchClass for a class other than
/// kSecInternetPasswordItemClass, with errSecNoSuchAttr for an attribute that cannot be searched, such as a date, and with errSecParam for an invalid value and
/// without a pointer for the search.
CF_EXPORT OSStatus SecKeychainSearchCreateFromAttributes(CFTypeRef _Nullable keychainOrArray, SecItemClass itemClass, const SecKeychainAttributeList *_Nullable attrList, SecKeychainSearchRef _Nullable *_Nullable CF_RETURNS_RETAINED searchRef);

/// Returns the next item of a search, the best match first. Fails with errSecItemNotFound after the last one, with errSecInvalidSearchRef for another
/// object, and with errSecParam without a pointer for the item.
CF_EXPORT OSStatus SecKeychainSearchCopyNext(SecKeychainSearchRef _Nullable searchRef, SecKeychainItemRef _Nullable *_Nullable CF_RETURNS_RETAINED itemRef);

CF_EXTERN_C_END

#endif
