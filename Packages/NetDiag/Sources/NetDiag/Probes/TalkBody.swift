internal import Glibc
internal import HTTPMessage

/// Puts the body of an HTTP answer together. No I/O.
struct TalkBody {
    /// What has come: at most one byte more than the limit, which tells that there are more.
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

    /// Takes what came next; true once there is nothing more to wait for.
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

    /// The server has closed: true if that is how the body was to end.
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
