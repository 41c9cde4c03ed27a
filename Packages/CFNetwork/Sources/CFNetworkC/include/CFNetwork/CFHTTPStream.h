#ifndef CFNETWORK_CFHTTPSTREAM_H
#define CFNETWORK_CFHTTPSTREAM_H

#include <CFNetwork/CFNetworkDefs.h>
#include <CFNetwork/CFHTTPMessage.h>

CF_EXTERN_C_BEGIN

/// The codes of errors in kCFStreamErrorDomainHTTP.
typedef CF_ENUM(int, CFStreamErrorHTTP) {
    kCFStreamErrorHTTPParseFailure = -1,
    kCFStreamErrorHTTPRedirectionLoop = -2,
    kCFStreamErrorHTTPBadURL = -3,
};

/// The domain of HTTP errors in CFStreamError. A status such as 404 is not an error.
CF_EXPORT const SInt32 kCFStreamErrorDomainHTTP;
/// Property, read only: the head of the response (CFHTTPMessage, a new one at each copy); NULL before it has arrived.
CF_EXPORT const CFStringRef _Nonnull kCFStreamPropertyHTTPResponseHeader CF_REFINED_FOR_SWIFT;
/// Property, read only: the URL of the last request (CFURL), after all redirects.
CF_EXPORT const CFStringRef _Nonnull kCFStreamPropertyHTTPFinalURL CF_REFINED_FOR_SWIFT;
/// Property, read only: the last request as it was sent (CFHTTPMessage), after all redirects.
CF_EXPORT const CFStringRef _Nonnull kCFStreamPropertyHTTPFinalRequest CF_REFINED_FOR_SWIFT;
/// Property: the proxies (CFDictionary), with the keys below or those of the system's proxy settings. Set it before the stream is
/// opened.
CF_EXPORT const CFStringRef _Nonnull kCFStreamPropertyHTTPProxy CF_REFINED_FOR_SWIFT;
/// Key of a proxy dictionary: the host of the proxy for http URLs (CFString).
CF_EXPORT const CFStringRef _Nonnull kCFStreamPropertyHTTPProxyHost CF_REFINED_FOR_SWIFT;
/// Key of a proxy dictionary: the port of the proxy for http URLs (CFNumber), 80 by default.
CF_EXPORT const CFStringRef _Nonnull kCFStreamPropertyHTTPProxyPort CF_REFINED_FOR_SWIFT;
/// Key of a proxy dictionary: the host of the proxy for https URLs (CFString).
CF_EXPORT const CFStringRef _Nonnull kCFStreamPropertyHTTPSProxyHost CF_REFINED_FOR_SWIFT;
/// Key of a proxy dictionary: the port of the proxy for https URLs (CFNumber), 80 by default.
CF_EXPORT const CFStringRef _Nonnull kCFStreamPropertyHTTPSProxyPort CF_REFINED_FOR_SWIFT;
/// Key of proxy settings: whether simple host names and names below .local are reached without the proxy (CFBoolean or CFNumber).
CF_EXPORT const CFStringRef _Nonnull kCFStreamPropertyProxyLocalBypass CF_REFINED_FOR_SWIFT;
/// Property: whether redirects are followed (CFBoolean), by default not. Set it before the stream is opened.
CF_EXPORT const CFStringRef _Nonnull kCFStreamPropertyHTTPShouldAutoredirect CF_REFINED_FOR_SWIFT;
/// Property: whether the connection is taken from, and kept for, other requests (CFBoolean), by default not. Set it before the
/// stream is opened.
CF_EXPORT const CFStringRef _Nonnull kCFStreamPropertyHTTPAttemptPersistentConnection CF_REFINED_FOR_SWIFT;
/// Property, read only: the number of bytes of the body that have been sent (CFNumber).
CF_EXPORT const CFStringRef _Nonnull kCFStreamPropertyHTTPRequestBytesWrittenCount CF_REFINED_FOR_SWIFT;

/// Creates a stream that sends the request when it is opened, and reads the body of the response. It copies the request. Returns
/// NULL for a message that is not a complete request.
CF_EXPORT CFReadStreamRef _Nonnull CFReadStreamCreateForHTTPRequest(CFAllocatorRef _Nullable alloc, CFHTTPMessageRef _Nonnull request) CF_REFINED_FOR_SWIFT;

/// Creates a stream that sends the request with a body that is read from another stream, which must not have been opened. With a
/// Content-Length the body must have that length, without one it is sent in chunks. It can be sent once: a redirect that needs it
/// again is an error. Returns NULL for a message that is not a complete request.
CF_EXPORT CFReadStreamRef _Nonnull CFReadStreamCreateForStreamedHTTPRequest(CFAllocatorRef _Nullable alloc, CFHTTPMessageRef _Nonnull requestHeaders, CFReadStreamRef _Nonnull requestBody) CF_REFINED_FOR_SWIFT;

/// Sets kCFStreamPropertyHTTPShouldAutoredirect. Declared by older systems.
CF_EXPORT void CFHTTPReadStreamSetRedirectsAutomatically(CFReadStreamRef _Nonnull httpStream, Boolean shouldAutoRedirect);

/// Sets the proxy for http URLs by kCFStreamPropertyHTTPProxy. Declared by older systems.
CF_EXPORT void CFHTTPReadStreamSetProxy(CFReadStreamRef _Nonnull httpStream, CFStringRef _Nonnull proxyHost, CFIndex proxyPort) CF_REFINED_FOR_SWIFT;

CF_EXTERN_C_END

#endif
