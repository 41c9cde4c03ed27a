public import HTTPMessage
internal import StreamKit

/// What a redirect to another origin may take along.
///
/// A server names where a redirect leads, so what it takes along is given to whomever that server likes. By default this is
/// nothing that could be a secret: ``safeFields``, and no body.
///
/// ```swift
/// var policy = CrossOriginPolicy()
/// policy.fields = ["X-Request-ID"]
/// try stream.set(.httpCrossOriginPolicy, to: policy)
/// ```
///
/// Neither is the client's certificate used there, nor is a server trusted because the checks were relaxed for the first one:
/// ``sendsIdentity``, ``keepsTrust``. Both concern every origin but the one that the application named.
///
/// For fields and body it applies from the first redirect to another origin on: what was left out there is not sent again,
/// even if a further redirect leads back.
public struct CrossOriginPolicy: Sendable, Hashable {
    /// Fields of the request that are sent to other origins, beside ``safeFields``. Default none.
    ///
    /// A field that is named here is sent wherever a redirect leads, also `Authorization` and `Cookie`.
    public var fields: Set<HTTPFieldName>

    /// Whether a 307 or 308 may carry the request's body to another origin. Default false: the load fails instead.
    public var sendsBody: Bool

    /// Whether the client's certificate is used with other origins. Default false: a server there that asks for one gets none.
    public var sendsIdentity: Bool

    /// Whether other origins are verified as loosely as the application's own. Default false: they are verified in full, by their own
    /// names, whatever `TLSConfiguration.verification`, the `insecure…` switches, `peerName` and `serverNameIndication` say.
    ///
    /// Roots, pins and a rule of one's own apply to all origins.
    public var keepsTrust: Bool

    /// Makes a policy.
    public init(
        fields: Set<HTTPFieldName> = [], sendsBody: Bool = false, sendsIdentity: Bool = false, keepsTrust: Bool = false
    ) {
        self.fields = fields
        self.sendsBody = sendsBody
        self.sendsIdentity = sendsIdentity
        self.keepsTrust = keepsTrust
    }

    /// The fields that are always sent: what the client accepts and what it is, which part of what version it wants, and
    /// what the body is.
    public static let safeFields: Set<HTTPFieldName> = [
        .accept, "Accept-Charset", .acceptEncoding, .acceptLanguage, .cacheControl, "Content-Disposition",
        .contentEncoding, "Content-Language", .contentLength, .contentRange, .contentType, .date, .expect, .ifMatch,
        .ifModifiedSince, .ifNoneMatch, .ifRange, "If-Unmodified-Since", "Pragma", .range, .te, .transferEncoding,
        .userAgent,
    ]

    /// What is left of a TLS configuration for an origin that the application did not name.
    func tls(_ own: TLSConfiguration) -> TLSConfiguration {
        var tls = own
        if !sendsIdentity { tls.identity = nil }
        if !keepsTrust {
            tls.verification = .full
            tls.insecureAllowsExpiredCertificates = false
            tls.insecureAllowsExpiredRoots = false
            tls.insecureAllowsAnyRoot = false
            tls.peerName = nil
            if case .name = tls.serverNameIndication { tls.serverNameIndication = .peerName }
        }
        return tls
    }

    /// What is left of a request's fields for another origin.
    func fields(of all: HTTPFields) throws(HTTPMessageError) -> HTTPFields {
        var kept = HTTPFields()
        for field in all where CrossOriginPolicy.safeFields.contains(field.name) || fields.contains(field.name) {
            try kept.append(rawValue: field.rawValue, for: field.name)
        }
        return kept
    }
}
