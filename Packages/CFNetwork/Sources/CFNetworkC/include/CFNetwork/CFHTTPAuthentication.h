#ifndef CFNETWORK_CFHTTPAUTHENTICATION_H
#define CFNETWORK_CFHTTPAUTHENTICATION_H

#include <CFNetwork/CFNetworkDefs.h>
#include <CFNetwork/CFHTTPMessage.h>

CF_EXTERN_C_BEGIN

/// The authentication of one user with one server or proxy, created from the response that asks for it. Use one object for all
/// requests of a user to a server: it keeps what the server has sent, such as the nonce of Digest.
///
/// Requests to which the object has applied credentials, and their streams, refer to the object. It processes the response of such
/// a stream when the program copies the response from the stream or next passes the object to a function. If the server has
/// rejected the credentials, the object is then invalid.
///
/// A CoreFoundation object; two are equal only if they are the same. It is thread-safe.
typedef struct CF_BRIDGED_MUTABLE_TYPE(id) _CFHTTPAuthentication *CFHTTPAuthenticationRef;

/// The codes of authentication errors in kCFStreamErrorDomainHTTP. After kCFStreamErrorHTTPAuthenticationBadUserName and
/// kCFStreamErrorHTTPAuthenticationBadPassword other credentials may help: release the object, ask the user, and create an object
/// from the next challenge. After any other error they do not.
typedef CF_ENUM(int, CFStreamErrorHTTPAuthentication) {
    kCFStreamErrorHTTPAuthenticationTypeUnsupported = -1000,
    kCFStreamErrorHTTPAuthenticationBadUserName = -1001,
    kCFStreamErrorHTTPAuthenticationBadPassword = -1002,
};

/// Key of credentials: the user name (CFString).
CF_EXPORT const CFStringRef _Nonnull kCFHTTPAuthenticationUsername CF_REFINED_FOR_SWIFT;
/// Key of credentials: the password (CFString).
CF_EXPORT const CFStringRef _Nonnull kCFHTTPAuthenticationPassword CF_REFINED_FOR_SWIFT;
/// Key of credentials: the Windows domain of the account (CFString), if CFHTTPAuthenticationRequiresAccountDomain returns TRUE.
CF_EXPORT const CFStringRef _Nonnull kCFHTTPAuthenticationAccountDomain CF_REFINED_FOR_SWIFT;

/// The type identifier of authentication objects.
CF_EXPORT CFTypeID CFHTTPAuthenticationGetTypeID(void);

/// Creates an object from a response with status 401 or 407. Returns NULL for any other message.
///
/// The object uses the first of the schemes Negotiate, NTLM, Digest and Basic that the response offers and that can start. If there
/// is none, the object is invalid.
///
/// If the request already had credentials of an object, and the response is about them, the function returns that object, retained:
/// still valid if the login goes on, as with NTLM, or the server only renews its challenge; invalid if it has rejected the
/// credentials. It does so once for each response; another call creates a new object.
CF_EXPORT CFHTTPAuthenticationRef _Nonnull CFHTTPAuthenticationCreateFromResponse(CFAllocatorRef _Nullable alloc, CFHTTPMessageRef _Nonnull response) CF_REFINED_FOR_SWIFT;

/// Returns whether the object can apply credentials. If it returns FALSE, the error is the reason.
CF_EXPORT Boolean CFHTTPAuthenticationIsValid(CFHTTPAuthenticationRef _Nonnull auth, CFStreamError *_Nullable error);

/// Returns whether the object's credentials are for a request: the URL lies below one of the URLs of
/// CFHTTPAuthenticationCopyDomains. TRUE for an object of a proxy. FALSE if the URL of the response is unknown: only responses of
/// streams have one.
CF_EXPORT Boolean CFHTTPAuthenticationAppliesToRequest(CFHTTPAuthenticationRef _Nonnull auth, CFHTTPMessageRef _Nonnull request) CF_REFINED_FOR_SWIFT;

/// Returns whether a request must not be sent before the response to the previous one has arrived. Such a scheme may also use one
/// connection for all its requests, which their streams then keep and share.
CF_EXPORT Boolean CFHTTPAuthenticationRequiresOrderedRequests(CFHTTPAuthenticationRef _Nonnull auth);

/// Puts a user name and a password on a request, which a stream must then be created for. For NTLM the user name may be
/// DOMAIN\user.
///
/// Returns FALSE, with the error, if a name or password is required and NULL, the object is invalid, the request is for another
/// server, or the message is not a request (EINVAL). The request is then unchanged. With Negotiate it may wait for up to 30 seconds
/// for a Kerberos server.
CF_EXPORT Boolean CFHTTPMessageApplyCredentials(CFHTTPMessageRef _Nonnull request, CFHTTPAuthenticationRef _Nonnull auth, CFStringRef _Nullable username, CFStringRef _Nullable password, CFStreamError *_Nullable error) CF_REFINED_FOR_SWIFT;

/// Puts the credentials of a dictionary with the keys above on a request, as CFHTTPMessageApplyCredentials does. If an entry that is
/// required is missing, the object becomes invalid. An empty string is an entry.
CF_EXPORT Boolean CFHTTPMessageApplyCredentialDictionary(CFHTTPMessageRef _Nonnull request, CFHTTPAuthenticationRef _Nonnull auth, CFDictionaryRef _Nonnull dict, CFStreamError *_Nullable error) CF_REFINED_FOR_SWIFT;

/// Copies the text to show to the user: the realm or, for a scheme without realms, the name of the server. Empty if both are unknown.
CF_EXPORT CFStringRef _Nonnull CFHTTPAuthenticationCopyRealm(CFHTTPAuthenticationRef _Nonnull auth) CF_REFINED_FOR_SWIFT;

/// Copies the URLs (CFArray of CFURL) below which the credentials are valid: those that the server lists with Digest, otherwise the
/// folder of the requested URL. URLs of other servers are left out. Empty for a proxy.
CF_EXPORT CFArrayRef _Nonnull CFHTTPAuthenticationCopyDomains(CFHTTPAuthenticationRef _Nonnull auth) CF_REFINED_FOR_SWIFT;

/// Copies the name of the scheme, such as Digest; for an invalid object, of the first scheme that was offered. NULL if the response
/// named none.
CF_EXPORT CFStringRef _Nonnull CFHTTPAuthenticationCopyMethod(CFHTTPAuthenticationRef _Nonnull auth) CF_REFINED_FOR_SWIFT;

/// Returns whether a user name and a password are required. FALSE if the scheme uses the identity of the process, such as a Kerberos
/// ticket: then apply an empty dictionary.
CF_EXPORT Boolean CFHTTPAuthenticationRequiresUserNameAndPassword(CFHTTPAuthenticationRef _Nonnull auth);

/// Returns whether the scheme uses a Windows domain. If TRUE, ask for the domain; there is no realm to show.
CF_EXPORT Boolean CFHTTPAuthenticationRequiresAccountDomain(CFHTTPAuthenticationRef _Nonnull auth);

CF_EXTERN_C_END

#endif
