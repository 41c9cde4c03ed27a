#ifndef CFNETWORK_CFHTTPMESSAGE_H
#define CFNETWORK_CFHTTPMESSAGE_H

#include <CFNetwork/CFNetworkDefs.h>

CF_EXTERN_C_BEGIN

/// A request or a response: a start line, header fields and a body. A CoreFoundation object; two messages are equal only if
/// they are the same object. A message is not thread-safe: use it from one thread at a time.
typedef struct CF_BRIDGED_MUTABLE_TYPE(id) __CFHTTPMessage *CFHTTPMessageRef;

/// HTTP/1.0, as text.
CF_EXPORT const CFStringRef _Nonnull kCFHTTPVersion1_0 CF_REFINED_FOR_SWIFT;
/// HTTP/1.1, as text.
CF_EXPORT const CFStringRef _Nonnull kCFHTTPVersion1_1 CF_REFINED_FOR_SWIFT;
/// HTTP/2.0, as text.
CF_EXPORT const CFStringRef _Nonnull kCFHTTPVersion2_0 CF_REFINED_FOR_SWIFT;
/// HTTP/3.0, as text.
CF_EXPORT const CFStringRef _Nonnull kCFHTTPVersion3_0 CF_REFINED_FOR_SWIFT;

/// The scheme Basic (RFC 7617): the password is sent as readable text.
CF_EXPORT const CFStringRef _Nonnull kCFHTTPAuthenticationSchemeBasic CF_REFINED_FOR_SWIFT;
/// The scheme Digest (RFC 7616): a hash of the password and the request is sent.
CF_EXPORT const CFStringRef _Nonnull kCFHTTPAuthenticationSchemeDigest CF_REFINED_FOR_SWIFT;
/// The scheme NTLM: authenticates a connection in several requests.
CF_EXPORT const CFStringRef _Nonnull kCFHTTPAuthenticationSchemeNTLM CF_REFINED_FOR_SWIFT;
/// Kerberos by the scheme Negotiate.
CF_EXPORT const CFStringRef _Nonnull kCFHTTPAuthenticationSchemeKerberos CF_REFINED_FOR_SWIFT;
/// The scheme Negotiate (RFC 4559).
CF_EXPORT const CFStringRef _Nonnull kCFHTTPAuthenticationSchemeNegotiate CF_REFINED_FOR_SWIFT;
/// The second version of Negotiate. No server on Linux offers it.
CF_EXPORT const CFStringRef _Nonnull kCFHTTPAuthenticationSchemeNegotiate2 CF_REFINED_FOR_SWIFT;
/// The scheme of a former service of Apple. Not supported: functions that receive it return FALSE.
CF_EXPORT const CFStringRef _Nonnull kCFHTTPAuthenticationSchemeXMobileMeAuthToken CF_REFINED_FOR_SWIFT;
/// OAuth 1.0, from older systems. Not supported: functions that receive it return FALSE.
CF_EXPORT const CFStringRef _Nonnull kCFHTTPAuthenticationSchemeOAuth1 CF_REFINED_FOR_SWIFT;

/// The type identifier of messages.
CF_EXPORT CFTypeID CFHTTPMessageGetTypeID(void);

/// Creates a request without header fields or body. Nothing is sent or resolved.
///
/// Returns NULL if the method is not a token, the URL contains no valid request target, or the version is not the text of a
/// version.
CF_EXPORT CFHTTPMessageRef _Nonnull CFHTTPMessageCreateRequest(CFAllocatorRef _Nullable alloc, CFStringRef _Nonnull requestMethod, CFURLRef _Nonnull url, CFStringRef _Nonnull httpVersion) CF_REFINED_FOR_SWIFT;

/// Creates a response without header fields or body. If the description is NULL, it is the standard phrase of the status.
///
/// Returns NULL if the status is not a number of three digits, the description contains a control character, or the version is
/// not the text of a version.
CF_EXPORT CFHTTPMessageRef _Nonnull CFHTTPMessageCreateResponse(CFAllocatorRef _Nullable alloc, CFIndex statusCode, CFStringRef _Nullable statusDescription, CFStringRef _Nonnull httpVersion) CF_REFINED_FOR_SWIFT;

/// Creates an empty request or response, to be filled with received bytes by CFHTTPMessageAppendBytes.
CF_EXPORT CFHTTPMessageRef _Nonnull CFHTTPMessageCreateEmpty(CFAllocatorRef _Nullable alloc, Boolean isRequest) CF_REFINED_FOR_SWIFT;

/// Creates an independent copy of a message, including a header that is still incomplete.
CF_EXPORT CFHTTPMessageRef _Nonnull CFHTTPMessageCreateCopy(CFAllocatorRef _Nullable alloc, CFHTTPMessageRef _Nonnull message) CF_REFINED_FOR_SWIFT;

/// Returns whether a message is a request. True also for an empty message that was created as a request.
CF_EXPORT Boolean CFHTTPMessageIsRequest(CFHTTPMessageRef _Nonnull message) CF_REFINED_FOR_SWIFT;

/// Copies the version. HTTP/1.1 while the header of a received message is incomplete.
CF_EXPORT CFStringRef _Nonnull CFHTTPMessageCopyVersion(CFHTTPMessageRef _Nonnull message) CF_REFINED_FOR_SWIFT;

/// Copies the body: the data that was set, or all bytes received after the header. NULL if there is no body.
///
/// The message does not decode the body: chunked coding remains as received.
CF_EXPORT CFDataRef _Nullable CFHTTPMessageCopyBody(CFHTTPMessageRef _Nonnull message) CF_REFINED_FOR_SWIFT;

/// Replaces the body by a copy of the data. Changes no header field, not even Content-Length.
CF_EXPORT void CFHTTPMessageSetBody(CFHTTPMessageRef _Nonnull message, CFDataRef _Nonnull bodyData) CF_REFINED_FOR_SWIFT;

/// Copies the value of a header field, whose name is compared without regard to case. NULL if there is no such field.
///
/// The values of several fields with this name are joined with a comma and a space.
CF_EXPORT CFStringRef _Nullable CFHTTPMessageCopyHeaderFieldValue(CFHTTPMessageRef _Nonnull message, CFStringRef _Nonnull headerField) CF_REFINED_FOR_SWIFT;

/// Copies all header fields: canonical names, such as Content-Type, and values joined as by CFHTTPMessageCopyHeaderFieldValue.
///
/// NULL while the header of a received message is incomplete.
CF_EXPORT CFDictionaryRef _Nullable CFHTTPMessageCopyAllHeaderFields(CFHTTPMessageRef _Nonnull message) CF_REFINED_FOR_SWIFT;

/// Sets or replaces a header field. A value of NULL removes it. Fields are sent in the order in which they were first set.
///
/// An invalid name and a value with a line ending or another control character leave the message unchanged: they could forge
/// further fields. A field that is set while the header is incomplete replaces the received field of that name.
CF_EXPORT void CFHTTPMessageSetHeaderFieldValue(CFHTTPMessageRef _Nonnull message, CFStringRef _Nonnull headerField, CFStringRef _Nullable value) CF_REFINED_FOR_SWIFT;

/// Appends received bytes to the header until it is complete, then to the body. The bytes may end anywhere.
///
/// Returns FALSE if the bytes are not a valid header or exceed 256 KiB, 256 fields or 64 KiB in a line, and for a message that
/// was not created by CFHTTPMessageCreateEmpty. After invalid bytes, the message accepts no more. The length of the body is not
/// limited: count the bytes of an untrusted peer.
CF_EXPORT Boolean CFHTTPMessageAppendBytes(CFHTTPMessageRef _Nonnull message, const UInt8 *_Nonnull newBytes, CFIndex numBytes) CF_REFINED_FOR_SWIFT;

/// Returns whether the header has been received completely, including its empty line; TRUE for a message that is a property of
/// a stream. FALSE for a message that was created from its parts.
CF_EXPORT Boolean CFHTTPMessageIsHeaderComplete(CFHTTPMessageRef _Nonnull message) CF_REFINED_FOR_SWIFT;

/// Copies the header and the body as they are sent. Nothing is added: no Host, no Content-Length. NULL while the header of a
/// received message is incomplete.
CF_EXPORT CFDataRef _Nullable CFHTTPMessageCopySerializedMessage(CFHTTPMessageRef _Nonnull message) CF_REFINED_FOR_SWIFT;

/// Copies the URL that a request was created with. For a received request, the URL of the request line: relative unless the
/// line contains an absolute URL. NULL for a response, while the header is incomplete, and for the targets * and host:port.
CF_EXPORT CFURLRef _Nullable CFHTTPMessageCopyRequestURL(CFHTTPMessageRef _Nonnull request) CF_REFINED_FOR_SWIFT;

/// Copies the method of a request. NULL for a response, and while the header is incomplete.
CF_EXPORT CFStringRef _Nullable CFHTTPMessageCopyRequestMethod(CFHTTPMessageRef _Nonnull request) CF_REFINED_FOR_SWIFT;

/// Puts a user name and a password on this request only, by the scheme Basic or Digest.
///
/// The response is the one that asked for authentication; it contains the challenge. If it is NULL, the credentials are sent
/// before the server has asked, which only Basic allows. If the scheme is NULL, it is the strongest one in the response, or
/// Basic. For a proxy, pass TRUE and the response with status 407.
///
/// Returns FALSE, and leaves the request unchanged, for a response that does not ask for authentication or asks for the other
/// party, for another scheme, and for a challenge that cannot be answered. NTLM and Negotiate, which need
/// several requests, are refused.
CF_EXPORT Boolean CFHTTPMessageAddAuthentication(CFHTTPMessageRef _Nonnull request, CFHTTPMessageRef _Nullable authenticationFailureResponse, CFStringRef _Nonnull username, CFStringRef _Nonnull password, CFStringRef _Nullable authenticationScheme, Boolean forProxy) CF_REFINED_FOR_SWIFT;

/// Returns the status of a response. -1 for a request, and while the header is incomplete.
CF_EXPORT CFIndex CFHTTPMessageGetResponseStatusCode(CFHTTPMessageRef _Nonnull response) CF_REFINED_FOR_SWIFT;

/// Copies the first line of a response without its line ending. NULL for a request, and while the header is incomplete.
CF_EXPORT CFStringRef _Nullable CFHTTPMessageCopyResponseStatusLine(CFHTTPMessageRef _Nonnull response) CF_REFINED_FOR_SWIFT;

CF_EXTERN_C_END

#endif
