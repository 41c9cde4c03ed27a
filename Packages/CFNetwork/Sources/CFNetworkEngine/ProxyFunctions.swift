// The functions of CFProxySupport.h. Their names and documentation are in the header.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

package import CFNetworkC
internal import CFNetworkC.Runtime
package import CoreFoundation
internal import Foundation
internal import StreamKit

@_cdecl("CFNetworkCopySystemProxySettings") @implementation
package func __CFNetworkCopySystemProxySettings() -> Unmanaged<CFDictionary>? {
    do throws(StreamError) {
        // Programs release the result without comparing it with NULL: Apple's systems always have settings.
        return try ProxySettings.system()?.cfDictionary ?? .fromOpaque(cfn_dictionary_create().toOpaque())
    } catch {
        return nil
    }
}

@_cdecl("CFNetworkCopyProxiesForURL") @implementation
package func __CFNetworkCopyProxiesForURL(_ url: CFURL, _ proxySettings: CFDictionary?) -> Unmanaged<CFArray> {
    let dictionary = proxySettings.map { nsDictionary($0) } ?? NSDictionary()
    guard let url = URL(string: string(url)), var settings = ProxySettings(settings: dictionary)
    else { return nullable(nil) }
    settings.bypassesLoopback = true
    return cfArray(settings.choices(for: url).map { $0.cfDictionary(for: url) })
}

@_cdecl("CFNetworkCopyProxiesForAutoConfigurationScript") @implementation
package func __CFNetworkCopyProxiesForAutoConfigurationScript(
    _ proxyAutoConfigurationScript: CFString, _ targetURL: CFURL,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> Unmanaged<CFArray>? {
    error?.pointee = nil
    do throws(StreamError) {
        guard let url = URL(string: string(targetURL)) else { throw StreamError(posix: 22) }  // EINVAL
        let choices = try ProxyScript(string(proxyAutoConfigurationScript)).choices(for: url)
        return cfArray(choices.map { $0.cfDictionary(for: url) })
    } catch let failure {
        error?.pointee = failure.cfError
        return nil
    }
}

@_cdecl("CFNetworkExecuteProxyAutoConfigurationScript") @implementation
package func __CFNetworkExecuteProxyAutoConfigurationScript(
    _ proxyAutoConfigurationScript: CFString, _ targetURL: CFURL,
    _ cb: @escaping CFProxyAutoConfigurationResultCallback,
    _ clientContext: UnsafeMutablePointer<CFStreamClientContext>
) -> Unmanaged<CFRunLoopSource> {
    makeSource(.text(string(proxyAutoConfigurationScript)), targetURL, cb, clientContext.pointee)
}

@_cdecl("CFNetworkExecuteProxyAutoConfigurationURL") @implementation
package func __CFNetworkExecuteProxyAutoConfigurationURL(
    _ proxyAutoConfigURL: CFURL, _ targetURL: CFURL, _ cb: @escaping CFProxyAutoConfigurationResultCallback,
    _ clientContext: UnsafeMutablePointer<CFStreamClientContext>
) -> Unmanaged<CFRunLoopSource> {
    makeSource(.url(string(proxyAutoConfigURL)), targetURL, cb, clientContext.pointee)
}

private func makeSource(
    _ script: ProxyScriptSource, _ url: CFURL, _ callback: @escaping CFProxyAutoConfigurationResultCallback,
    _ context: CFStreamClientContext
) -> Unmanaged<CFRunLoopSource> {
    let retain = context.retain.map { unsafeBitCast($0, to: CFAllocatorRetainCallBack.self) }
    let release = context.release.map { unsafeBitCast($0, to: CFAllocatorReleaseCallBack.self) }
    let client = ProxyScriptRun.Client(
        callback: callback, info: ClientInfo(context.info, retain: retain, release: release))
    return ProxyScriptRun(script, URL(string: string(url)), client).makeSource()
}
