/// The rules for the fields of a message (RFC 9113 §8.2 and §8.3), in one table.
///
/// A message that violates a rule is malformed: an error of its stream (RFC 9113 §8.1.1).
enum FieldRule: Error, Hashable, CaseIterable {
    case name
    case lowercase
    case value
    case pseudoFirst
    case pseudoKnown
    case pseudoOnce
    case pseudoInTrailers
    case connectionField
    case te
    case method
    case scheme
    case path
    case authority
    case authorityPresent
    case hostEqual
    case hostOnce
    case connect
    case connectProtocol
    case status
    case switchingProtocols
    case contentLength
    case contentLengthOnce
    case contentLengthForbidden

    /// The section that states the rule, and what is wrong with a message that violates it.
    var text: (section: String, reason: String) {
        switch self {
        case .name: ("RFC 9113 §8.2.1", "a field name is not a token")
        case .lowercase: ("RFC 9113 §8.2", "a field name contains a capital letter")
        case .value: ("RFC 9113 §8.2.1", "a field value contains a control character or begins or ends with whitespace")
        case .pseudoFirst: ("RFC 9113 §8.3", "a pseudo-header field follows a field")
        case .pseudoKnown:
            ("RFC 9113 §8.3", "a pseudo-header field is unknown, or belongs to the other kind of message")
        case .pseudoOnce: ("RFC 9113 §8.3", "a pseudo-header field occurs twice")
        case .pseudoInTrailers: ("RFC 9113 §8.1", "a trailer section contains a pseudo-header field")
        case .connectionField: ("RFC 9113 §8.2.2", "a field belongs to a connection of HTTP/1.1")
        case .te: ("RFC 9113 §8.2.2", "the value of te is not 'trailers'")
        case .method: ("RFC 9113 §8.3.1", "there is no :method, or it is not a token")
        case .scheme: ("RFC 9113 §8.3.1", "there is no :scheme, or it is not the scheme of a URL")
        case .path: ("RFC 9113 §8.3.1", "there is no :path, or it is neither a path nor '*' with OPTIONS")
        case .authority: ("RFC 9113 §8.3.1", "the :authority or host is not a host with an optional port")
        case .authorityPresent: ("RFC 9113 §8.3.1", "there is neither :authority nor host")
        case .hostEqual: ("RFC 9113 §8.3.1", "the host differs from the :authority")
        case .hostOnce: ("RFC 9110 §7.2", "there is more than one host")
        case .connect: ("RFC 9113 §8.5", "a CONNECT has a :scheme or :path, or no host and port in :authority")
        case .connectProtocol:
            ("RFC 8441 §4", "there is a :protocol without CONNECT or the server's permission, or it is not a token")
        case .status: ("RFC 9113 §8.3.2", "there is no :status, or it is not a number from 100 to 999")
        case .switchingProtocols: ("RFC 9113 §8.6", "the status is 101")
        case .contentLength: ("RFC 9110 §8.6", "the content-length is not a number")
        case .contentLengthOnce: ("RFC 9110 §8.6", "there is more than one content-length")
        case .contentLengthForbidden:
            ("RFC 9110 §8.6", "a message that has no content, such as a CONNECT, has a content-length")
        }
    }

    /// The error of the stream.
    func error(on stream: StreamID) -> HTTP2Error {
        .stream(stream, .protocolError, text.section, text.reason)
    }
}
