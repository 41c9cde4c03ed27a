public import FoundationEssentials
internal import HTTPMessage
public import NetDiag
public import StreamKit

extension NetDiagnostic {
    /// For an HTTP or FTP stream that failed, or ended otherwise than one hoped.
    ///
    /// ```swift
    /// let stream = try ReadStream(httpURL: url)
    /// …
    /// } catch {
    ///     print(await (try NetDiagnostic(load: stream, of: url)).diagnose())
    /// }
    /// ```
    ///
    /// What the stream knows is not tried again: the connections in its report, the proxy's and the server's answers, the
    /// numbers of its error. Changes nothing about it, and may be called while its error is being delivered.
    ///
    /// - Parameters:
    ///   - stream: the load, in whatever state.
    ///   - url: what it was to load; if redirects were followed, where they led counts.
    /// - Throws: `EINVAL` for a URL without a host or a port that can be told.
    public convenience init(load stream: ReadStream, of url: URL, options: Options = Options()) throws(StreamError) {
        let refusal = stream[.httpProxyResponse].flatMap { (200..<300).contains($0.status.code) ? nil : $0 }
        let url = stream[.httpFinalURL] ?? url
        // Why a proxy script cannot be loaded, the way to its server tells, which the load knows nothing of.
        if let settings = stream[.httpProxySettings], stream.error?.sentence.key == "script.load" {
            var options = options
            options.proxies = settings
            try self.init(url: url, options: options)
            return
        }
        // Settings that do not say a way have failed the load, which its error tells.
        var routes = stream[.proxies] ?? []
        if routes.isEmpty { routes = (try? stream[.httpProxySettings]?.routes(for: url)) ?? [] }
        try self.init(
            url: url, report: stream.report, error: stream.error, response: refusal ?? stream[.httpResponse],
            isFromProxy: refusal != nil, routes: routes, options: options)
    }

    /// For an FTP upload that failed.
    ///
    /// - Throws: `EINVAL` for a URL without a host or a port that can be told.
    public convenience init(load stream: WriteStream, of url: URL, options: Options = Options()) throws(StreamError) {
        try self.init(
            url: url, report: stream.report, error: stream.error, routes: stream[.proxies] ?? [], options: options)
    }
}
