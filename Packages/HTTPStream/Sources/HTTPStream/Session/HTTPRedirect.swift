public import HTTPMessage
internal import StreamKit

/// A redirect that a session is about to follow. See ``HTTPSession/Configuration/onRedirect``.
public struct HTTPRedirect: Sendable {
    /// The response that redirects, without its body.
    public let response: HTTPResponse

    /// The request that it responds to.
    public let request: HTTPRequest

    /// The next request: without the parts that ``CrossOriginPolicy`` keeps from another origin, and before cookies and
    /// credentials are added.
    public let next: HTTPRequest

    /// The number of redirects that the load has followed before.
    public let count: Int
}

extension StreamProperty where Value == [HTTPResponse] {
    /// The responses that redirected the load, in order, without their bodies. Each has the URL that it came from.
    ///
    /// ```swift
    /// let stream = try await session.open(request)
    /// for response in stream[.httpRedirects] ?? [] { print(response.status, response.url!) }
    /// ```
    public static var httpRedirects: Self { .init(setting: "HTTPStream.redirects", access: .readOnly) }
}
