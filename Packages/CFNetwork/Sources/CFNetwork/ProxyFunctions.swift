// The functions of CFProxySupport.h whose callback takes a list of proxies as Foundation's array.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

internal import CFNetworkC
public import CoreFoundation
public import Foundation

/// The function that receives the proxies of a script: the context's pointer, a list of dictionaries as
/// `CFNetworkCopyProxiesForURL` returns, and the error if there is one; the list is then empty. It may be a closure with captures.
public typealias CFProxyAutoConfigurationResultCallback = (UnsafeMutableRawPointer, CFArray, CFError?) -> Void

/// Runs a script as CFNetworkCopyProxiesForAutoConfigurationScript does, without waiting. The script is started when the source is added
/// to a run loop; the callback is called there, once, and the source is then invalid. Invalidating it earlier ends the script.
///
/// Retains the context's pointer until the source is invalidated.
public func CFNetworkExecuteProxyAutoConfigurationScript(
    _ proxyAutoConfigurationScript: CFString, _ targetURL: CFURL,
    _ cb: @escaping CFProxyAutoConfigurationResultCallback, _ clientContext: UnsafeMutablePointer<CFStreamClientContext>
) -> Unmanaged<CFRunLoopSource> {
    ScriptClient(clientContext.pointee, cb).run { callback, context in
        CFNetworkC.__CFNetworkExecuteProxyAutoConfigurationScript(
            bridge(proxyAutoConfigurationScript), bridge(targetURL), callback, context)
    }
}

/// Loads a script from an http, https or file URL and runs it, as CFNetworkExecuteProxyAutoConfigurationScript does. The error is
/// kCFErrorPACFileAuth if the server requires a login.
public func CFNetworkExecuteProxyAutoConfigurationURL(
    _ proxyAutoConfigURL: CFURL, _ targetURL: CFURL, _ cb: @escaping CFProxyAutoConfigurationResultCallback,
    _ clientContext: UnsafeMutablePointer<CFStreamClientContext>
) -> Unmanaged<CFRunLoopSource> {
    ScriptClient(clientContext.pointee, cb).run { callback, context in
        CFNetworkC.__CFNetworkExecuteProxyAutoConfigurationURL(
            bridge(proxyAutoConfigURL), bridge(targetURL), callback, context)
    }
}

/// The client of a script: a Swift closure behind a function in C, and the program's context.
private final class ScriptClient {
    private let callback: CFProxyAutoConfigurationResultCallback
    private let context: CFStreamClientContext
    private let info: UnsafeMutableRawPointer?

    init(_ context: CFStreamClientContext, _ callback: @escaping CFProxyAutoConfigurationResultCallback) {
        self.callback = callback
        self.context = context
        info = context.info.map { context.retain?($0) ?? $0 }
    }

    deinit {
        if let info, let release = context.release { release(info) }
    }

    /// Calls a function of CFNetwork with this client, which the source then retains.
    func run(
        _ body: (
            @escaping CFNetworkC.CFProxyAutoConfigurationResultCallback, UnsafeMutablePointer<CFStreamClientContext>
        ) -> Unmanaged<CFRunLoopSource>
    ) -> Unmanaged<CFRunLoopSource> {
        var own = CFStreamClientContext(
            version: 0, info: Unmanaged.passUnretained(self).toOpaque(),
            retain: { info in info.map { Unmanaged<AnyObject>.fromOpaque($0).retain().toOpaque() } },
            release: { info in
                if let info { Unmanaged<AnyObject>.fromOpaque(info).release() }
            },
            copyDescription: nil)
        return withExtendedLifetime(self) {
            body(
                { client, proxies, error in
                    Unmanaged<ScriptClient>.fromOpaque(client).takeUnretainedValue().deliver(proxies, error)
                }, &own)
        }
    }

    private func deliver(_ proxies: CoreFoundation.CFArray, _ error: CFError?) {
        // A context without a pointer gets that of its client, which it must not use.
        callback(info ?? Unmanaged.passUnretained(self).toOpaque(), bridge(proxies), error)
    }
}
