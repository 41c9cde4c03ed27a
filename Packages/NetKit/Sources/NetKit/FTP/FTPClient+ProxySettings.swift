public import FTPStream
public import FoundationEssentials
public import HTTPStream
public import StreamKit

/// Proxy settings for FTP: their routes, and the mode of data connections that they demand.
extension FTPClient {
    /// Applies proxy settings to streams that are made afterwards.
    ///
    /// ```swift
    /// let client = try FTPClient(url)
    /// try await client.apply(ProxySettings.system() ?? ProxySettings(), for: url)
    /// ```
    ///
    /// The routes become `StreamProperty.proxies`; an HTTP proxy establishes tunnels (CONNECT) for both connections. If a proxy
    /// cannot be reached, the next one is tried. If a script decides, it is loaded and run first. `ProxySettings.usesPassiveFTP`
    /// applies unless `FTPOptions.usesPassiveMode` is set. Replaces `kCFStreamPropertyFTPProxy` with a dictionary of
    /// system settings.
    ///
    /// - Parameters:
    ///   - settings: the settings, which have no effect before this call.
    ///   - url: the URL to reach.
    ///   - scripts: the store of loaded scripts.
    /// - Throws: as `ProxySettings.resolvedRoutes(for:scripts:)`; nothing has been set then.
    public nonisolated(nonsending) func apply(
        _ settings: ProxySettings, for url: URL, scripts: ProxyScriptStore = .shared
    ) async throws(StreamError) {
        try set(.proxies, to: try await settings.resolvedRoutes(for: url, scripts: scripts))
        try set(.ftp(\.passiveModeDefault), to: settings.usesPassiveFTP)
    }
}

extension StreamHalf {
    /// Applies proxy settings to an FTP stream, like `FTPClient.apply(_:for:scripts:)`.
    ///
    /// - Throws: the same errors, and those of setting a property once the stream is open.
    public nonisolated(nonsending) func applyToFTP(
        _ settings: ProxySettings, for url: URL, scripts: ProxyScriptStore = .shared
    ) async throws(StreamError) {
        try set(.proxies, to: try await settings.resolvedRoutes(for: url, scripts: scripts))
        try set(.ftp(\.passiveModeDefault), to: settings.usesPassiveFTP)
    }
}
