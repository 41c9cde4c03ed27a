#ifndef CFNETWORK_CFNETWORKERRORS_H
#define CFNETWORK_CFNETWORKERRORS_H

#include <CFNetwork/CFNetworkDefs.h>

CF_EXTERN_C_BEGIN

/// The codes of errors whose domain is kCFErrorDomainCFNetwork.
typedef CF_ENUM(int, CFNetworkErrors) {
    // CFHost: the lookup failed. kCFGetAddrInfoFailureKey holds the code of getaddrinfo.
    kCFHostErrorHostNotFound = 1,
    kCFHostErrorUnknown = 2,

    // SOCKS. The keys kCFSOCKS…Key hold the status, version and negotiation method of the server.
    kCFSOCKSErrorUnknownClientVersion = 100,
    kCFSOCKSErrorUnsupportedServerVersion = 101,
    kCFSOCKS4ErrorRequestFailed = 110,
    kCFSOCKS4ErrorIdentdFailed = 111,
    kCFSOCKS4ErrorIdConflict = 112,
    kCFSOCKS4ErrorUnknownStatusCode = 113,
    kCFSOCKS5ErrorBadState = 120,
    kCFSOCKS5ErrorBadResponseAddr = 121,
    kCFSOCKS5ErrorBadCredentials = 122,
    kCFSOCKS5ErrorUnsupportedNegotiationMethod = 123,
    kCFSOCKS5ErrorNoAcceptableMethod = 124,

    // FTP: the server refused a command. kCFFTPStatusCodeKey holds its reply code.
    kCFFTPErrorUnexpectedStatusCode = 200,

    // HTTP streams, proxies and proxy scripts.
    kCFErrorHTTPAuthenticationTypeUnsupported = 300,
    kCFErrorHTTPBadCredentials = 301,
    kCFErrorHTTPConnectionLost = 302,
    kCFErrorHTTPParseFailure = 303,
    kCFErrorHTTPRedirectionLoopDetected = 304,
    kCFErrorHTTPBadURL = 305,
    kCFErrorHTTPProxyConnectionFailure = 306,
    kCFErrorHTTPBadProxyCredentials = 307,
    kCFErrorPACFileError = 308,
    kCFErrorPACFileAuth = 309,
    kCFErrorHTTPSProxyConnectionFailure = 310,
    kCFStreamErrorHTTPSProxyFailureUnexpectedResponseToCONNECTMethod = 311,

    // Loading of URLs. The functions of this library report only the codes of the groups above and of CFNetServices;
    // these are declared for programs that share error handling with URLSession.
    kCFURLErrorBackgroundSessionInUseByAnotherProcess = -996,
    kCFURLErrorBackgroundSessionWasDisconnected = -997,
    kCFURLErrorUnknown = -998,
    kCFURLErrorCancelled = -999,
    kCFURLErrorBadURL = -1000,
    kCFURLErrorTimedOut = -1001,
    kCFURLErrorUnsupportedURL = -1002,
    kCFURLErrorCannotFindHost = -1003,
    kCFURLErrorCannotConnectToHost = -1004,
    kCFURLErrorNetworkConnectionLost = -1005,
    kCFURLErrorDNSLookupFailed = -1006,
    kCFURLErrorHTTPTooManyRedirects = -1007,
    kCFURLErrorResourceUnavailable = -1008,
    kCFURLErrorNotConnectedToInternet = -1009,
    kCFURLErrorRedirectToNonExistentLocation = -1010,
    kCFURLErrorBadServerResponse = -1011,
    kCFURLErrorUserCancelledAuthentication = -1012,
    kCFURLErrorUserAuthenticationRequired = -1013,
    kCFURLErrorZeroByteResource = -1014,
    kCFURLErrorCannotDecodeRawData = -1015,
    kCFURLErrorCannotDecodeContentData = -1016,
    kCFURLErrorCannotParseResponse = -1017,
    kCFURLErrorInternationalRoamingOff = -1018,
    kCFURLErrorCallIsActive = -1019,
    kCFURLErrorDataNotAllowed = -1020,
    kCFURLErrorRequestBodyStreamExhausted = -1021,
    kCFURLErrorAppTransportSecurityRequiresSecureConnection = -1022,
    kCFURLErrorFileDoesNotExist = -1100,
    kCFURLErrorFileIsDirectory = -1101,
    kCFURLErrorNoPermissionsToReadFile = -1102,
    kCFURLErrorDataLengthExceedsMaximum = -1103,
    kCFURLErrorFileOutsideSafeArea = -1104,
    kCFURLErrorSecureConnectionFailed = -1200,
    kCFURLErrorServerCertificateHasBadDate = -1201,
    kCFURLErrorServerCertificateUntrusted = -1202,
    kCFURLErrorServerCertificateHasUnknownRoot = -1203,
    kCFURLErrorServerCertificateNotYetValid = -1204,
    kCFURLErrorClientCertificateRejected = -1205,
    kCFURLErrorClientCertificateRequired = -1206,
    kCFURLErrorCannotLoadFromNetwork = -2000,
    kCFURLErrorCannotCreateFile = -3000,
    kCFURLErrorCannotOpenFile = -3001,
    kCFURLErrorCannotCloseFile = -3002,
    kCFURLErrorCannotWriteToFile = -3003,
    kCFURLErrorCannotRemoveFile = -3004,
    kCFURLErrorCannotMoveFile = -3005,
    kCFURLErrorDownloadDecodingFailedMidStream = -3006,
    kCFURLErrorDownloadDecodingFailedToComplete = -3007,

    // Cookies. No function of this library stores cookies.
    kCFHTTPCookieCannotParseCookieFile = -4000,

    // CFNetServices. kCFDNSServiceFailureKey holds the code of DNS Service Discovery.
    kCFNetServiceErrorUnknown = -72000,
    kCFNetServiceErrorCollision = -72001,
    kCFNetServiceErrorNotFound = -72002,
    kCFNetServiceErrorInProgress = -72003,
    kCFNetServiceErrorBadArgument = -72004,
    kCFNetServiceErrorCancel = -72005,
    kCFNetServiceErrorInvalid = -72006,
    kCFNetServiceErrorTimeout = -72007,
    kCFNetServiceErrorDNSServiceFailure = -73000,
};

/// The domain of errors with the codes of CFNetworkErrors. Errors of the operating system have kCFErrorDomainPOSIX.
CF_EXPORT const CFStringRef _Nonnull kCFErrorDomainCFNetwork CF_REFINED_FOR_SWIFT;
/// User info: the URL whose loading failed (CFURL).
CF_EXPORT const CFStringRef _Nonnull kCFURLErrorFailingURLErrorKey CF_REFINED_FOR_SWIFT;
/// User info: the URL whose loading failed, as text (CFString).
CF_EXPORT const CFStringRef _Nonnull kCFURLErrorFailingURLStringErrorKey CF_REFINED_FOR_SWIFT;
/// User info: the code of getaddrinfo (CFNumber).
CF_EXPORT const CFStringRef _Nonnull kCFGetAddrInfoFailureKey CF_REFINED_FOR_SWIFT;
/// User info: the status in a SOCKS server's reply (CFNumber).
CF_EXPORT const CFStringRef _Nonnull kCFSOCKSStatusCodeKey CF_REFINED_FOR_SWIFT;
/// User info: the SOCKS version that the server uses (CFNumber).
CF_EXPORT const CFStringRef _Nonnull kCFSOCKSVersionKey CF_REFINED_FOR_SWIFT;
/// User info: the authentication method that a SOCKS server demands (CFNumber).
CF_EXPORT const CFStringRef _Nonnull kCFSOCKSNegotiationMethodKey CF_REFINED_FOR_SWIFT;
/// User info: the code of DNS Service Discovery (CFNumber).
CF_EXPORT const CFStringRef _Nonnull kCFDNSServiceFailureKey CF_REFINED_FOR_SWIFT;
/// User info: an FTP server's reply code (CFNumber).
CF_EXPORT const CFStringRef _Nonnull kCFFTPStatusCodeKey CF_REFINED_FOR_SWIFT;

CF_EXTERN_C_END

#endif
