/// One thing to try for a URL, from ``ProxySettings/choices(for:)``. Replaces `kCFProxyTypeKey`'s values.
public enum ProxyChoice: Sendable, Hashable {
    /// Without a proxy (`kCFProxyTypeNone`).
    case direct
    /// Through this proxy (`kCFProxyTypeHTTP`, `kCFProxyTypeHTTPS`, `kCFProxyTypeFTP`, `kCFProxyTypeSOCKS`).
    case server(ProxyServer)
    /// As a script says (`kCFProxyTypeAutoConfigurationURL`, `kCFProxyTypeAutoConfigurationJavaScript`).
    case script(ProxyScriptSource)
}

/// Where a proxy auto-configuration (PAC) script is.
public enum ProxyScriptSource: Sendable, Hashable {
    /// At a URL: `kCFProxyAutoConfigurationURLKey`.
    case url(String)
    /// Here: `kCFProxyAutoConfigurationJavaScriptKey`.
    case text(String)
}

extension ProxyChoice: CustomStringConvertible {
    /// `direct`, `http://proxy.example:3128`, or where the script is.
    public var description: String {
        switch self {
        case .direct: "direct"
        case .server(let server): server.description
        case .script(.url(let url)): "script at \(url)"
        case .script(.text): "script"
        }
    }
}
