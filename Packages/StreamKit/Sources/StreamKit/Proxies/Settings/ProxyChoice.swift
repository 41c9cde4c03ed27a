/// One way to reach a URL, from ``ProxySettings/choices(for:)``. Replaces the values of `kCFProxyTypeKey`.
public enum ProxyChoice: Sendable, Hashable {
    /// Without a proxy (`kCFProxyTypeNone`).
    case direct
    /// Through this proxy (`kCFProxyTypeHTTP`, `kCFProxyTypeHTTPS`, `kCFProxyTypeFTP`, `kCFProxyTypeSOCKS`).
    case server(ProxyServer)
    /// As decided by a script (`kCFProxyTypeAutoConfigurationURL`, `kCFProxyTypeAutoConfigurationJavaScript`).
    case script(ProxyScriptSource)
}

/// The source of a proxy auto-configuration (PAC) script.
public enum ProxyScriptSource: Sendable, Hashable {
    /// The script at a URL: `kCFProxyAutoConfigurationURLKey`.
    case url(String)
    /// The text of the script: `kCFProxyAutoConfigurationJavaScriptKey`.
    case text(String)
}

extension ProxyChoice: CustomStringConvertible {
    /// `direct`, `http://proxy.example:3128`, or the source of the script.
    public var description: String {
        switch self {
        case .direct: "direct"
        case .server(let server): server.description
        case .script(.url(let url)): "script at \(url)"
        case .script(.text): "script"
        }
    }
}
