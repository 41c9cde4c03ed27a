public import FTPStream
public import FoundationEssentials
public import StreamKit

/// Proxy settings for FTP: the ways that they name, and the mode for data that they demand.
extension FTPClient {
    /// Applies proxy settings to the streams that are made from now on.
    ///
    /// ```swift
    /// let client = try FTPClient(url)
    /// try await client.apply(ProxySettings.system() ?? ProxySettings(), for: url)
    /// ```
    ///
    /// The ways become `StreamProperty.proxies`; an HTTP proxy is asked for tunnels (CONNECT), for both connections. Of several
    /// the next one is tried when one cannot be reached. A script that is to decide is loaded and run first. What
    /// `ProxySettings.usesPassiveFTP` demands holds unless `StreamProperty.ftpUsesPassiveMode` is set. Replaces
    /// `kCFStreamPropertyFTPProxy` with a dictionary of the system's.
    ///
    /// - Parameters:
    ///   - settings: nothing in them is applied by itself.
    ///   - url: where one wants to go.
    ///   - scripts: where loaded scripts are kept.
    /// - Throws: as `ProxySettings.resolvedRoutes(for:scripts:)`; nothing has been set then.
    public nonisolated(nonsending) func apply(
        _ settings: ProxySettings, for url: URL, scripts: ProxyScriptStore = .shared
    ) async throws(StreamError) {
        try set(.proxies, to: try await settings.resolvedRoutes(for: url, scripts: scripts))
        try set(.ftpPassiveModeDefault, to: settings.usesPassiveFTP)
    }
}

extension ReadStream {
    /// Applies proxy settings to an FTP stream, as `FTPClient.apply(_:for:scripts:)`.
    ///
    /// - Throws: as that, and what setting a property throws once the stream is open.
    public nonisolated(nonsending) func applyToFTP(
        _ settings: ProxySettings, for url: URL, scripts: ProxyScriptStore = .shared
    ) async throws(StreamError) {
        try set(.proxies, to: try await settings.resolvedRoutes(for: url, scripts: scripts))
        try set(.ftpPassiveModeDefault, to: settings.usesPassiveFTP)
    }
}

extension WriteStream {
    /// Applies proxy settings to an FTP stream, as `FTPClient.apply(_:for:scripts:)`.
    ///
    /// - Throws: as that, and what setting a property throws once the stream is open.
    public nonisolated(nonsending) func applyToFTP(
        _ settings: ProxySettings, for url: URL, scripts: ProxyScriptStore = .shared
    ) async throws(StreamError) {
        try set(.proxies, to: try await settings.resolvedRoutes(for: url, scripts: scripts))
        try set(.ftpPassiveModeDefault, to: settings.usesPassiveFTP)
    }
}
