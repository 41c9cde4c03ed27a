import HTTPMessage
import NetKit
import StreamKit

/// What came of a load, as its user saw it.
struct Loaded {
    /// Everything that could be read, also before an error.
    var body: [UInt8] = []
    /// What reading or opening threw; nil after an orderly end.
    var error: StreamError?
    /// The events told, where events are told.
    var events: [StreamEvent] = []
    /// The stream, for its properties; closed.
    var stream: ReadStream

    var response: HTTPResponse? { stream[.httpResponse] }
    var status: Int? { response?.status.code }
    var text: String { String(decoding: body, as: UTF8.self) }
}
