#ifndef CFNETWORK_CFFTPSTREAM_H
#define CFNETWORK_CFFTPSTREAM_H

#include <CFNetwork/CFNetworkDefs.h>

CF_EXTERN_C_BEGIN

// All properties but kCFStreamPropertyFTPResourceSize are set before the stream is opened.

/// The domain of FTP errors in CFStreamError; the code is that of the server's reply.
CF_EXPORT const SInt32 kCFStreamErrorDomainFTP;
/// Property: the user name (CFString), which takes precedence over that of the URL; without either the login is anonymous.
CF_EXPORT const CFStringRef _Nonnull kCFStreamPropertyFTPUserName CF_REFINED_FOR_SWIFT;
/// Property: the password (CFString), which takes precedence over that of the URL. It is not read back.
CF_EXPORT const CFStringRef _Nonnull kCFStreamPropertyFTPPassword CF_REFINED_FOR_SWIFT;
/// Property: whether the client connects for the data (CFBoolean), by default yes; otherwise the server does.
CF_EXPORT const CFStringRef _Nonnull kCFStreamPropertyFTPUsePassiveMode CF_REFINED_FOR_SWIFT;
/// Property, read only: the size of the file (CFNumber), if the server has reported it.
CF_EXPORT const CFStringRef _Nonnull kCFStreamPropertyFTPResourceSize CF_REFINED_FOR_SWIFT;
/// Property: whether to query the size of the file before the transfer (CFBoolean), by default not.
CF_EXPORT const CFStringRef _Nonnull kCFStreamPropertyFTPFetchResourceInfo CF_REFINED_FOR_SWIFT;
/// Property: the offset at which the transfer begins (CFNumber).
CF_EXPORT const CFStringRef _Nonnull kCFStreamPropertyFTPFileTransferOffset CF_REFINED_FOR_SWIFT;
/// Property: whether the session is taken from, and kept for, other transfers (CFBoolean), by default yes.
CF_EXPORT const CFStringRef _Nonnull kCFStreamPropertyFTPAttemptPersistentConnection CF_REFINED_FOR_SWIFT;
/// Property: a proxy that speaks FTP (CFDictionary), with the four keys below.
CF_EXPORT const CFStringRef _Nonnull kCFStreamPropertyFTPProxy CF_REFINED_FOR_SWIFT;
/// Key of a proxy dictionary: the host (CFString).
CF_EXPORT const CFStringRef _Nonnull kCFStreamPropertyFTPProxyHost CF_REFINED_FOR_SWIFT;
/// Key of a proxy dictionary: the port (CFNumber), 21 by default.
CF_EXPORT const CFStringRef _Nonnull kCFStreamPropertyFTPProxyPort CF_REFINED_FOR_SWIFT;
/// Key of a proxy dictionary: the user name for the proxy (CFString).
CF_EXPORT const CFStringRef _Nonnull kCFStreamPropertyFTPProxyUser CF_REFINED_FOR_SWIFT;
/// Key of a proxy dictionary: the password for the proxy (CFString).
CF_EXPORT const CFStringRef _Nonnull kCFStreamPropertyFTPProxyPassword CF_REFINED_FOR_SWIFT;
/// Listing: the permission bits (CFNumber).
CF_EXPORT const CFStringRef _Nonnull kCFFTPResourceMode CF_REFINED_FOR_SWIFT;
/// Listing: the name (CFString).
CF_EXPORT const CFStringRef _Nonnull kCFFTPResourceName CF_REFINED_FOR_SWIFT;
/// Listing: the owner (CFString).
CF_EXPORT const CFStringRef _Nonnull kCFFTPResourceOwner CF_REFINED_FOR_SWIFT;
/// Listing: the group (CFString).
CF_EXPORT const CFStringRef _Nonnull kCFFTPResourceGroup CF_REFINED_FOR_SWIFT;
/// Listing: the target of a symbolic link (CFString).
CF_EXPORT const CFStringRef _Nonnull kCFFTPResourceLink CF_REFINED_FOR_SWIFT;
/// Listing: the size in bytes (CFNumber).
CF_EXPORT const CFStringRef _Nonnull kCFFTPResourceSize CF_REFINED_FOR_SWIFT;
/// Listing: the type (CFNumber), a DT_… of <dirent.h>.
CF_EXPORT const CFStringRef _Nonnull kCFFTPResourceType CF_REFINED_FOR_SWIFT;
/// Listing: the time of the last change (CFDate).
CF_EXPORT const CFStringRef _Nonnull kCFFTPResourceModDate CF_REFINED_FOR_SWIFT;

/// Creates a stream that reads a file or, for a URL that ends in a slash, the lines of a directory's listing (LIST). Returns NULL for
/// a URL that cannot be used with FTP.
CF_EXPORT CFReadStreamRef _Nonnull CFReadStreamCreateWithFTPURL(CFAllocatorRef _Nullable alloc, CFURLRef _Nonnull ftpURL) CF_REFINED_FOR_SWIFT;

/// Parses the first line of a listing. Returns the number of bytes of the line and its end, 0 if the line is incomplete, or -1 if it
/// is too long. parsed receives a dictionary that the caller releases, or NULL for a line that is not an entry. A dictionary has only
/// the keys whose facts are in the line.
CF_EXPORT CFIndex CFFTPCreateParsedResourceListing(CFAllocatorRef _Nullable alloc, const UInt8 *_Nonnull buffer, CFIndex bufferLength, CFDictionaryRef _Nullable *_Nullable parsed) CF_REFINED_FOR_SWIFT;

/// Creates a stream that writes a file or, for a URL that ends in a slash, creates a directory when it is opened. CFWriteStreamClose
/// waits until the server has confirmed the transfer; a stream that is released without it does not wait, and the server
/// may keep what it has received. Returns NULL for a
/// URL that cannot be used with FTP.
CF_EXPORT CFWriteStreamRef _Nonnull CFWriteStreamCreateWithFTPURL(CFAllocatorRef _Nullable alloc, CFURLRef _Nonnull ftpURL) CF_REFINED_FOR_SWIFT;

CF_EXTERN_C_END

#endif
