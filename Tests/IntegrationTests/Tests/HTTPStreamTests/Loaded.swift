import HTTPMessage
import NetKit
import StreamKit

/// The result of a load, as seen by its caller.
struct Loaded {
    /// All bytes that could be read, including those before an error.
    var body: [UInt8] = []
    /// The error of reading or opening; nil after an orderly end.
    var error: StreamError?
    /// The events, in the styles that have events.
    var events: [StreamEvent] = []
    /// The stream, for its properties; closed.
    var stream: ReadStream

    var response: HTTPResponse? { stream[.httpResponse] }
    var status: Int? { response?.status.code }
    var text: String { String(decoding: body, as: UTF8.self) }
}
