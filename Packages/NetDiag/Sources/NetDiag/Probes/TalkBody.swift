internal import Glibc
internal import HTTPMessage

/// Decodes the body of an HTTP response, up to a limit. Does no I/O.
struct ExchangeBody {
    /// The bytes so far, at most one more than the limit, which shows that the body is longer.
    private(set) var bytes: [UInt8] = []
    private let limit: Int
    private var decoder: BodyDecoder

    init(of head: HTTPResponse, upTo limit: Int) throws(StreamError) {
        self.limit = limit
        do throws(HTTPMessageError) {
            decoder = BodyDecoder(try .of(head, to: .get, leniency: .client), leniency: .client)
        } catch {
            throw .brokenBody(error)
        }
    }

    /// Processes the next bytes. Returns true once the body is complete or the limit is exceeded.
    mutating func receive(_ input: [UInt8]) throws(StreamError) -> Bool {
        var position = 0
        do throws(HTTPMessageError) {
            while bytes.count <= limit {
                switch try decoder.next(in: input.span.bytes, at: &position) {
                case .needMore: return false
                case .payload(let range): bytes += input[range].prefix(limit + 1 - bytes.count)
                case .end: return true
                }
            }
            return true
        } catch {
            throw .brokenBody(error)
        }
    }

    /// Processes the end of the connection. Returns true if the body may end this way; throws otherwise.
    mutating func receiveEnd() throws(StreamError) -> Bool {
        do throws(HTTPMessageError) {
            try decoder.receiveEnd()
            return true
        } catch {
            throw .brokenBody(error)
        }
    }
}

extension StreamError {
    fileprivate static func brokenBody(_ error: HTTPMessageError) -> StreamError {
        StreamError(
            posix: EPROTO, Sentence("diag.brokenBody", "The response body is malformed: %1.", "\(error)"),
            underlying: error)
    }
}
