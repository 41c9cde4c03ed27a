public import FoundationEssentials
internal import HTTPMessage
internal import HTTPStream
public import NetDiag
public import StreamKit

extension NetDiagnostic {
    /// Makes a diagnosis of an HTTP or FTP stream that failed, or that ended unexpectedly.
    ///
    /// ```swift
    /// let stream = try ReadStream(httpURL: url)
    /// do {
    ///     try await stream.opened()
    /// } catch {
    ///     print(await (try NetDiagnostic(load: stream, of: url)).diagnose())
    /// }
    /// ```
    ///
    /// Facts that the stream knows are not measured again: the connections in its report, the responses of proxy and server, and
    /// the numbers of its error. Does not change the stream, and may be called while its error is being delivered.
    ///
    /// - Parameters:
    ///   - stream: the load, in any state.
    ///   - url: the URL of the load; if redirects were followed, the URL of the last one is used instead.
    /// - Throws: `EINVAL` for a URL without a host or with an invalid port.
    public convenience init(load stream: ReadStream, of url: URL, options: Options = Options()) throws(StreamError) {
        let refusal = stream[.httpProxyResponse].flatMap { (200..<300).contains($0.status.code) ? nil : $0 }
        let url = stream[.httpFinalURL] ?? url
        // A proxy script that cannot be loaded is diagnosed by the route to its server, which the load has not recorded.
        if let settings = stream[.http(\.proxySettings)], stream.error?.reason == .scriptUnreachable {
            var options = options
            options.proxies = settings
            try self.init(url: url, options: options)
            return
        }
        // Settings without a route for the URL have failed the load, and its error reports that.
        var routes = stream[.proxies] ?? []
        if routes.isEmpty { routes = (try? stream[.http(\.proxySettings)]?.routes(for: url)) ?? [] }
        try self.init(
            url: url, report: stream.report, error: stream.error, response: refusal ?? stream[.httpResponse],
            isFromProxy: refusal != nil, address: stream[.remoteAddress], routes: routes, options: options)
    }

    /// Makes a diagnosis of an FTP upload that failed.
    ///
    /// - Throws: `EINVAL` for a URL without a host or with an invalid port.
    public convenience init(load stream: WriteStream, of url: URL, options: Options = Options()) throws(StreamError) {
        try self.init(
            url: url, report: stream.report, error: stream.error, routes: stream[.proxies] ?? [], options: options)
    }
}
