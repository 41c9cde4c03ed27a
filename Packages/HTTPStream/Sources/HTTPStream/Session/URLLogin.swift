internal import FoundationEssentials
internal import HTTPMessage
internal import StreamKit

/// The user of a URL, and optionally the password.
struct URLLogin {
    var user: String
    var password: String?

    init(user: String, password: String? = nil) { (self.user, self.password) = (user, password) }

    /// The login of a URL; nil if it has none.
    init?(_ url: URL) {
        guard let user = url.user(percentEncoded: false) else { return nil }
        self.init(user: user, password: url.password(percentEncoded: false))
    }
}

extension HTTPRequest {
    /// The same request for its URL without user and password, which other parties must not see.
    func withoutLogin(_ url: URL) throws(StreamError) -> HTTPRequest {
        guard url.user(percentEncoded: true) != nil || url.password(percentEncoded: true) != nil,
            var parts = URLComponents(url: url, resolvingAgainstBaseURL: true)
        else { return self }
        (parts.user, parts.password) = (nil, nil)
        guard let plain = parts.url else { throw .badURL("its user name cannot be removed.") }
        do throws(HTTPMessageError) {
            var request = try HTTPRequest(method: method, url: plain, version: version)
            request.fields = fields
            request.body = body
            return request
        } catch {
            throw StreamError(error)
        }
    }
}
