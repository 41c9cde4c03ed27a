#ifndef CFNETWORK_CFSOCKETSTREAM_H
#define CFNETWORK_CFSOCKETSTREAM_H

#include <CFNetwork/CFNetworkDefs.h>
#include <CFNetwork/CFHost.h>
#include <CFNetwork/CFNetServices.h>

CF_EXTERN_C_BEGIN

// CFStream.h of CoreFoundation declares the functions that create pairs of streams and the keys of SOCKS proxies, security levels
// and native sockets. This library defines them: CFStreamCreatePairWithSocket, …WithSocketToHost, …WithPeerSocketSignature,
// CFStreamCreateBoundPair, CFReadStreamGetError and CFWriteStreamGetError.
//
// CFReadStreamSetProperty and CFWriteStreamSetProperty return FALSE for a key or value that the stream does not honour.

// The parts of CFStreamError.error in kCFStreamErrorDomainSOCKS: subdomains and codes.
enum {
    kCFStreamErrorSOCKSSubDomainNone = 0,
    kCFStreamErrorSOCKSSubDomainVersionCode = 1,
    kCFStreamErrorSOCKS4SubDomainResponse = 2,
    kCFStreamErrorSOCKS5SubDomainUserPass = 3,
    kCFStreamErrorSOCKS5SubDomainMethod = 4,
    kCFStreamErrorSOCKS5SubDomainResponse = 5,
    kCFStreamErrorSOCKS5BadResponseAddr = 1,
    kCFStreamErrorSOCKS5BadState = 2,
    kCFStreamErrorSOCKSUnknownClientVersion = 3,
    kCFStreamErrorSOCKS4RequestFailed = 91,
    kCFStreamErrorSOCKS4IdentdFailed = 92,
    kCFStreamErrorSOCKS4IdConflict = 93,
    kSOCKS5NoAcceptableMethod = 0xFF,
};

/// The subdomain of a SOCKS error: the upper 16 bits of its code.
CF_INLINE SInt32 CFSocketStreamSOCKSGetErrorSubdomain(const CFStreamError *_Nonnull error) { return (error->error >> 16) & 0xFFFF; }

/// The code of a SOCKS error within its subdomain: the lower 16 bits.
CF_INLINE SInt32 CFSocketStreamSOCKSGetError(const CFStreamError *_Nonnull error) { return error->error & 0xFFFF; }

/// The protocols of CFSocketStreamPairSetSecurityProtocol.
typedef CF_ENUM(int, CFStreamSocketSecurityProtocol) {
    kCFStreamSocketSecurityNone = 0,
    kCFStreamSocketSecuritySSLv2 = 1,
    kCFStreamSocketSecuritySSLv3 = 2,
    kCFStreamSocketSecuritySSLv23 = 3,
    kCFStreamSocketSecurityTLSv1 = 4,
};

/// Property: the settings of TLS (CFDictionary with the keys below), for both streams of the pair. Set before the streams are opened, TLS
/// begins with the connection. Set once both streams are open, it begins at once, as after a STARTTLS command; the program must not have
/// left unread bytes of the plain connection. A dictionary with an unknown key or an invalid value is refused (FALSE). NULL turns TLS off,
/// before the streams are opened.
CF_EXPORT const CFStringRef _Nonnull kCFStreamPropertySSLSettings CF_REFINED_FOR_SWIFT;
/// TLS setting: the level (CFString), a kCFStreamSocketSecurityLevel…; by default kCFStreamSocketSecurityLevelNegotiatedSSL.
/// SSL 2 and SSL 3 are refused, and kCFStreamSocketSecurityLevelTLSv1 means TLS 1.2 or later.
CF_EXPORT const CFStringRef _Nonnull kCFStreamSSLLevel CF_REFINED_FOR_SWIFT;
/// TLS setting: the name to send and to find in the peer's certificate (CFString), or kCFNull for any name; by default the host.
CF_EXPORT const CFStringRef _Nonnull kCFStreamSSLPeerName CF_REFINED_FOR_SWIFT;
/// TLS setting: the own certificate with its key, and those of authorities (CFArray): a SecIdentityRef of <Security/Security.h> and
/// SecCertificateRefs after it, or PEM text of all in one or more CFData.
CF_EXPORT const CFStringRef _Nonnull kCFStreamSSLCertificates CF_REFINED_FOR_SWIFT;
/// TLS setting: whether this is the server's side (CFBoolean), which needs kCFStreamSSLCertificates.
CF_EXPORT const CFStringRef _Nonnull kCFStreamSSLIsServer CF_REFINED_FOR_SWIFT;
/// TLS setting: kCFBooleanFalse to verify nothing. The connection is then open to attacks.
CF_EXPORT const CFStringRef _Nonnull kCFStreamSSLValidatesCertificateChain CF_REFINED_FOR_SWIFT;
/// TLS setting: kCFBooleanTrue to accept expired certificates.
CF_EXPORT const CFStringRef _Nonnull kCFStreamSSLAllowsExpiredCertificates CF_REFINED_FOR_SWIFT;
/// TLS setting: kCFBooleanTrue to accept expired roots.
CF_EXPORT const CFStringRef _Nonnull kCFStreamSSLAllowsExpiredRoots CF_REFINED_FOR_SWIFT;
/// TLS setting: kCFBooleanTrue to accept certificates with an unknown root.
CF_EXPORT const CFStringRef _Nonnull kCFStreamSSLAllowsAnyRoot CF_REFINED_FOR_SWIFT;
/// Property, read only: the peer's certificates (CFArray of SecCertificateRef, see <Security/Security.h>), its own first; NULL before the
/// handshake.
CF_EXPORT const CFStringRef _Nonnull kCFStreamPropertySSLPeerCertificates CF_REFINED_FOR_SWIFT;
/// Property: the purpose of the traffic (CFString), a kCFStreamNetworkServiceType…; it sets the priority of the packets. Set it
/// before the stream is opened.
CF_EXPORT const CFStringRef _Nonnull kCFStreamNetworkServiceType CF_REFINED_FOR_SWIFT;
/// Service type: video.
CF_EXPORT const CFStringRef _Nonnull kCFStreamNetworkServiceTypeVideo CF_REFINED_FOR_SWIFT;
/// Service type: voice.
CF_EXPORT const CFStringRef _Nonnull kCFStreamNetworkServiceTypeVoice CF_REFINED_FOR_SWIFT;
/// Service type: transfers that may wait.
CF_EXPORT const CFStringRef _Nonnull kCFStreamNetworkServiceTypeBackground CF_REFINED_FOR_SWIFT;
/// Service type: data that a user waits for.
CF_EXPORT const CFStringRef _Nonnull kCFStreamNetworkServiceTypeResponsiveData CF_REFINED_FOR_SWIFT;
/// Service type: the signalling of calls.
CF_EXPORT const CFStringRef _Nonnull kCFStreamNetworkServiceTypeCallSignaling CF_REFINED_FOR_SWIFT;
/// Service type: streamed audio and video.
CF_EXPORT const CFStringRef _Nonnull kCFStreamNetworkServiceTypeAVStreaming CF_REFINED_FOR_SWIFT;
/// Service type: interactive audio and video.
CF_EXPORT const CFStringRef _Nonnull kCFStreamNetworkServiceTypeResponsiveAV CF_REFINED_FOR_SWIFT;
/// Service type: no special treatment, as on current systems of Apple.
CF_EXPORT const CFStringRef _Nonnull kCFStreamNetworkServiceTypeVoIP CF_REFINED_FOR_SWIFT;

/// Property, read only: a copy of the CFHost that the pair was created with, in its state at that time; NULL for other streams.
CF_EXPORT const CFStringRef _Nonnull kCFStreamPropertySocketRemoteHost CF_REFINED_FOR_SWIFT;

/// Property, read only: a CFNetService with the name, type and domain of the service that the pair was created with; NULL for other streams.
CF_EXPORT const CFStringRef _Nonnull kCFStreamPropertySocketRemoteNetService CF_REFINED_FOR_SWIFT;

/// Property of pairs: the dictionary of an HTTP proxy that establishes a tunnel with CONNECT, with the keys below. Set it before the stream
/// is opened; it takes the place of a SOCKS proxy. NULL removes it.
CF_EXPORT const CFStringRef _Nonnull kCFStreamPropertyCONNECTProxy CF_REFINED_FOR_SWIFT;
/// Key of a CONNECT proxy: its host (CFString). Required.
CF_EXPORT const CFStringRef _Nonnull kCFStreamPropertyCONNECTProxyHost CF_REFINED_FOR_SWIFT;
/// Key of a CONNECT proxy: its port (CFNumber). Required.
CF_EXPORT const CFStringRef _Nonnull kCFStreamPropertyCONNECTProxyPort CF_REFINED_FOR_SWIFT;
/// Key of a CONNECT proxy: the version of the request (CFString). Only kCFHTTPVersion1_1 is honoured, which is also the default here.
CF_EXPORT const CFStringRef _Nonnull kCFStreamPropertyCONNECTVersion CF_REFINED_FOR_SWIFT;
/// Key of a CONNECT proxy: further header fields of the request (CFDictionary of CFStrings).
CF_EXPORT const CFStringRef _Nonnull kCFStreamPropertyCONNECTAdditionalHeaders CF_REFINED_FOR_SWIFT;
/// Property, read only: the response of the CONNECT proxy (CFHTTPMessage); NULL before.
CF_EXPORT const CFStringRef _Nonnull kCFStreamPropertyCONNECTResponse CF_REFINED_FOR_SWIFT;
/// Property, read only: always NULL. A login is answered on the same connection, so there is no previous response.
CF_EXPORT const CFStringRef _Nonnull kCFStreamPropertyPreviousCONNECTResponse CF_REFINED_FOR_SWIFT;

/// Property: always NULL, and setting it returns FALSE, because there is no SSLContext outside of Apple's systems.
CF_EXPORT const CFStringRef _Nonnull kCFStreamPropertySSLContext CF_REFINED_FOR_SWIFT;
/// Property, read only: the peer's certificates to evaluate (SecTrustRef, see <Security/Security.h>), with the policy for its name; NULL before
/// the handshake, and if the peer sent none. An evaluation ignores the stream's settings that allow invalid certificates.
CF_EXPORT const CFStringRef _Nonnull kCFStreamPropertySSLPeerTrust CF_REFINED_FOR_SWIFT;
/// Property: setting it returns FALSE, because Linux does not know which networks are cellular.
CF_EXPORT const CFStringRef _Nonnull kCFStreamPropertyNoCellular CF_REFINED_FOR_SWIFT;
/// Property: always NULL, because Linux does not know which networks are cellular.
CF_EXPORT const CFStringRef _Nonnull kCFStreamPropertyConnectionIsCellular CF_REFINED_FOR_SWIFT;
/// Property: setting it returns FALSE, because Linux does not know which networks are expensive.
CF_EXPORT const CFStringRef _Nonnull kCFStreamPropertyAllowExpensiveNetworkAccess CF_REFINED_FOR_SWIFT;
/// Property: always NULL, because Linux does not know which networks are expensive.
CF_EXPORT const CFStringRef _Nonnull kCFStreamPropertyConnectionIsExpensive CF_REFINED_FOR_SWIFT;
/// Property: setting it returns FALSE, because Linux does not know which networks are constrained.
CF_EXPORT const CFStringRef _Nonnull kCFStreamPropertyAllowConstrainedNetworkAccess CF_REFINED_FOR_SWIFT;
/// Property: setting it returns FALSE, because Linux does not suspend programs in the background.
CF_EXPORT const CFStringRef _Nonnull kCFStreamPropertySocketExtendedBackgroundIdleMode CF_REFINED_FOR_SWIFT;

/// Creates a pair of streams to a port of a host: to its addresses if they are known, otherwise to its name, which is looked up when a
/// stream is opened. A result that is not wanted is NULL. Both results are NULL for a port that is 0 or above 65535.
CF_EXPORT void CFStreamCreatePairWithSocketToCFHost(CFAllocatorRef _Nullable alloc, CFHostRef _Nonnull host, SInt32 port, CFReadStreamRef _Nullable *_Nullable readStream, CFWriteStreamRef _Nullable *_Nullable writeStream);

/// Creates a pair of streams to a service, which is resolved when a stream is opened, without a time limit. A result that is not wanted is
/// NULL. Both results are NULL for a name, type or domain that no service has.
CF_EXPORT void CFStreamCreatePairWithSocketToNetService(CFAllocatorRef _Nullable alloc, CFNetServiceRef _Nonnull service, CFReadStreamRef _Nullable *_Nullable readStream, CFWriteStreamRef _Nullable *_Nullable writeStream);

/// Sets the security level of both streams of a pair, before or after they are opened; SSLv23 means the best level that both sides support.
/// Returns whether both streams honour it: SSL 2 and SSL 3 are refused.
CF_EXPORT Boolean CFSocketStreamPairSetSecurityProtocol(CFReadStreamRef _Nonnull socketReadStream, CFWriteStreamRef _Nonnull socketWriteStream, CFStreamSocketSecurityProtocol securityProtocol);

CF_EXTERN_C_END

#endif
