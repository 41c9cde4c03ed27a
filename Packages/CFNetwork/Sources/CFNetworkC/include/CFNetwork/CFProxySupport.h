#ifndef CFNETWORK_CFPROXYSUPPORT_H
#define CFNETWORK_CFPROXYSUPPORT_H

#include <CFNetwork/CFNetworkDefs.h>

CF_EXTERN_C_BEGIN

/// Called on a run loop with the result of a script: the proxies to try, as from CFNetworkCopyProxiesForURL, or an empty list and the
/// error. The client is the pointer of the context.
typedef void (*CFProxyAutoConfigurationResultCallback)(void *_Nonnull client, CFArrayRef _Nonnull proxyList, CFErrorRef _Nullable error);

/// Key of a proxy: its type (CFString), a kCFProxyType….
CF_EXPORT const CFStringRef _Nonnull kCFProxyTypeKey CF_REFINED_FOR_SWIFT;
/// Key of a proxy: its name or address (CFString). Not for kCFProxyTypeNone and scripts.
CF_EXPORT const CFStringRef _Nonnull kCFProxyHostNameKey CF_REFINED_FOR_SWIFT;
/// Key of a proxy: its port (CFNumber). Not for kCFProxyTypeNone and scripts.
CF_EXPORT const CFStringRef _Nonnull kCFProxyPortNumberKey CF_REFINED_FOR_SWIFT;
/// Key of a proxy: the URL of the script that decides (CFURL).
CF_EXPORT const CFStringRef _Nonnull kCFProxyAutoConfigurationURLKey CF_REFINED_FOR_SWIFT;
/// Key of a proxy: the text of the script that decides (CFString).
CF_EXPORT const CFStringRef _Nonnull kCFProxyAutoConfigurationJavaScriptKey CF_REFINED_FOR_SWIFT;
/// Key of a proxy: the user name (CFString). Settings have none, so that it is never in a result.
CF_EXPORT const CFStringRef _Nonnull kCFProxyUsernameKey CF_REFINED_FOR_SWIFT;
/// Key of a proxy: the password (CFString). Settings have none, so that it is never in a result.
CF_EXPORT const CFStringRef _Nonnull kCFProxyPasswordKey CF_REFINED_FOR_SWIFT;

/// Type: no proxy; connect directly.
CF_EXPORT const CFStringRef _Nonnull kCFProxyTypeNone CF_REFINED_FOR_SWIFT;
/// Type: an HTTP proxy that receives the requests.
CF_EXPORT const CFStringRef _Nonnull kCFProxyTypeHTTP CF_REFINED_FOR_SWIFT;
/// Type: an HTTP proxy that is asked for a tunnel with CONNECT.
CF_EXPORT const CFStringRef _Nonnull kCFProxyTypeHTTPS CF_REFINED_FOR_SWIFT;
/// Type: a SOCKS proxy.
CF_EXPORT const CFStringRef _Nonnull kCFProxyTypeSOCKS CF_REFINED_FOR_SWIFT;
/// Type: an HTTP proxy that receives requests for ftp URLs.
CF_EXPORT const CFStringRef _Nonnull kCFProxyTypeFTP CF_REFINED_FOR_SWIFT;
/// Type: a script at a URL decides; pass it to CFNetworkExecuteProxyAutoConfigurationURL.
CF_EXPORT const CFStringRef _Nonnull kCFProxyTypeAutoConfigurationURL CF_REFINED_FOR_SWIFT;
/// Type: the script decides; pass it to CFNetworkExecuteProxyAutoConfigurationScript.
CF_EXPORT const CFStringRef _Nonnull kCFProxyTypeAutoConfigurationJavaScript CF_REFINED_FOR_SWIFT;
/// Key of the user info of an error: the response to the request for a script (CFHTTPMessage). Errors of this library have none.
CF_EXPORT const CFStringRef _Nonnull kCFProxyAutoConfigurationHTTPResponseKey CF_REFINED_FOR_SWIFT;

// Keys of proxy settings. A proxy is used if its host is present and its …Enable is absent or not 0. The keys of Gopher, RTSP and
// discovery are for property lists of Apple's systems: they have no effect.

/// Setting: the hosts that are reached directly (CFArray of CFString): names, *.domain, addresses and networks such as 10/8.
CF_EXPORT const CFStringRef _Nonnull kCFNetworkProxiesExceptionsList CF_REFINED_FOR_SWIFT;
/// Setting: whether names without a dot are reached directly (CFNumber).
CF_EXPORT const CFStringRef _Nonnull kCFNetworkProxiesExcludeSimpleHostnames CF_REFINED_FOR_SWIFT;
/// Setting: whether the FTP proxy is used (CFNumber).
CF_EXPORT const CFStringRef _Nonnull kCFNetworkProxiesFTPEnable CF_REFINED_FOR_SWIFT;
/// Setting: whether FTP uses passive mode (CFNumber).
CF_EXPORT const CFStringRef _Nonnull kCFNetworkProxiesFTPPassive CF_REFINED_FOR_SWIFT;
/// Setting: the port of the FTP proxy (CFNumber).
CF_EXPORT const CFStringRef _Nonnull kCFNetworkProxiesFTPPort CF_REFINED_FOR_SWIFT;
/// Setting: the host of the FTP proxy (CFString).
CF_EXPORT const CFStringRef _Nonnull kCFNetworkProxiesFTPProxy CF_REFINED_FOR_SWIFT;
/// Setting of Gopher, without effect.
CF_EXPORT const CFStringRef _Nonnull kCFNetworkProxiesGopherEnable CF_REFINED_FOR_SWIFT;
/// Setting of Gopher, without effect.
CF_EXPORT const CFStringRef _Nonnull kCFNetworkProxiesGopherPort CF_REFINED_FOR_SWIFT;
/// Setting of Gopher, without effect.
CF_EXPORT const CFStringRef _Nonnull kCFNetworkProxiesGopherProxy CF_REFINED_FOR_SWIFT;
/// Setting: whether the proxy for http URLs is used (CFNumber).
CF_EXPORT const CFStringRef _Nonnull kCFNetworkProxiesHTTPEnable CF_REFINED_FOR_SWIFT;
/// Setting: the port of the proxy for http URLs (CFNumber).
CF_EXPORT const CFStringRef _Nonnull kCFNetworkProxiesHTTPPort CF_REFINED_FOR_SWIFT;
/// Setting: the host of the proxy for http URLs (CFString).
CF_EXPORT const CFStringRef _Nonnull kCFNetworkProxiesHTTPProxy CF_REFINED_FOR_SWIFT;
/// Setting: whether the proxy for https URLs is used (CFNumber).
CF_EXPORT const CFStringRef _Nonnull kCFNetworkProxiesHTTPSEnable CF_REFINED_FOR_SWIFT;
/// Setting: the port of the proxy for https URLs (CFNumber).
CF_EXPORT const CFStringRef _Nonnull kCFNetworkProxiesHTTPSPort CF_REFINED_FOR_SWIFT;
/// Setting: the host of the proxy for https URLs (CFString).
CF_EXPORT const CFStringRef _Nonnull kCFNetworkProxiesHTTPSProxy CF_REFINED_FOR_SWIFT;
/// Setting of RTSP, without effect.
CF_EXPORT const CFStringRef _Nonnull kCFNetworkProxiesRTSPEnable CF_REFINED_FOR_SWIFT;
/// Setting of RTSP, without effect.
CF_EXPORT const CFStringRef _Nonnull kCFNetworkProxiesRTSPPort CF_REFINED_FOR_SWIFT;
/// Setting of RTSP, without effect.
CF_EXPORT const CFStringRef _Nonnull kCFNetworkProxiesRTSPProxy CF_REFINED_FOR_SWIFT;
/// Setting: whether the SOCKS proxy is used (CFNumber).
CF_EXPORT const CFStringRef _Nonnull kCFNetworkProxiesSOCKSEnable CF_REFINED_FOR_SWIFT;
/// Setting: the port of the SOCKS proxy (CFNumber).
CF_EXPORT const CFStringRef _Nonnull kCFNetworkProxiesSOCKSPort CF_REFINED_FOR_SWIFT;
/// Setting: the host of the SOCKS proxy (CFString).
CF_EXPORT const CFStringRef _Nonnull kCFNetworkProxiesSOCKSProxy CF_REFINED_FOR_SWIFT;
/// Setting: whether a script decides (CFNumber).
CF_EXPORT const CFStringRef _Nonnull kCFNetworkProxiesProxyAutoConfigEnable CF_REFINED_FOR_SWIFT;
/// Setting: the URL of the script (CFString).
CF_EXPORT const CFStringRef _Nonnull kCFNetworkProxiesProxyAutoConfigURLString CF_REFINED_FOR_SWIFT;
/// Setting: the text of the script (CFString).
CF_EXPORT const CFStringRef _Nonnull kCFNetworkProxiesProxyAutoConfigJavaScript CF_REFINED_FOR_SWIFT;
/// Setting: whether the network is asked for a script, without effect.
CF_EXPORT const CFStringRef _Nonnull kCFNetworkProxiesProxyAutoDiscoveryEnable CF_REFINED_FOR_SWIFT;

/// Copies the proxy settings of the environment (http_proxy and so on) or, without them, of the user's or the machine's file of NetKit.
/// User names and passwords are left out. An empty dictionary if there are no settings; NULL if they are invalid.
///
/// Streams do not use them unless they are set as a property.
CF_EXPORT CFDictionaryRef _Nullable CFNetworkCopySystemProxySettings(void) CF_REFINED_FOR_SWIFT;

/// Copies the proxies to try for a URL, in order (CFArray of CFDictionary); at least one. Hosts of this machine and exceptions are reached
/// directly. Otherwise a script decides alone; without one, the proxy for the scheme of the URL comes first, then the SOCKS proxy.
///
/// NULL for settings with an invalid value. Settings of NULL have no proxies, as when the system has none.
CF_EXPORT CFArrayRef _Nonnull CFNetworkCopyProxiesForURL(CFURLRef _Nonnull url, CFDictionaryRef _Nullable proxySettings) CF_REFINED_FOR_SWIFT;

/// Runs a script to choose the proxies for a URL, and waits for the result, for at most ten seconds. It runs in a separate process without
/// access to files. Returns NULL, with a retained error (kCFErrorPACFileError), if the script fails or this machine has no engine.
CF_EXPORT CFArrayRef _Nullable CFNetworkCopyProxiesForAutoConfigurationScript(CFStringRef _Nonnull proxyAutoConfigurationScript, CFURLRef _Nonnull targetURL, CFErrorRef _Nullable *_Nullable error) CF_REFINED_FOR_SWIFT;

/// Runs a script as CFNetworkCopyProxiesForAutoConfigurationScript does, without waiting. The script is started when the source is added
/// to a run loop; the callback is called there, once, and the source is then invalid. Invalidating it earlier ends the script.
///
/// Retains the context's pointer until the source is invalidated.
CF_EXPORT CFRunLoopSourceRef _Nonnull CFNetworkExecuteProxyAutoConfigurationScript(CFStringRef _Nonnull proxyAutoConfigurationScript, CFURLRef _Nonnull targetURL, CFProxyAutoConfigurationResultCallback _Nonnull cb, CFStreamClientContext *_Nonnull clientContext) CF_REFINED_FOR_SWIFT;

/// Loads a script from an http, https or file URL and runs it, as CFNetworkExecuteProxyAutoConfigurationScript does. The error is
/// kCFErrorPACFileAuth if the server requires a login.
CF_EXPORT CFRunLoopSourceRef _Nonnull CFNetworkExecuteProxyAutoConfigurationURL(CFURLRef _Nonnull proxyAutoConfigURL, CFURLRef _Nonnull targetURL, CFProxyAutoConfigurationResultCallback _Nonnull cb, CFStreamClientContext *_Nonnull clientContext) CF_REFINED_FOR_SWIFT;

CF_EXTERN_C_END

#endif
