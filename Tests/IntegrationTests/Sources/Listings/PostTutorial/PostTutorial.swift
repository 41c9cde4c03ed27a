public import Foundation
public import NetKit
internal import RunLoopDelivery

/// The program of the tutorial "HTTPS POST request": sends JSON to `https://…/post` and shows the answer.
public enum PostTutorial {
    /// The result of the callback.
    public struct Answer: Sendable {
        /// The response with its body; nil if there was none.
        public var response: HTTPResponse?
        /// The reason why there was none.
        public var error: StreamError?
    }

    /// Sends the request; `done` is called on this thread's run loop, which must run.
    ///
    /// The tutorial sets `Host` and `Content-Length` itself, which the stream does better, and an invalid content type, which is
    /// passed on unchanged.
    public static func postRequest(
        _ url: URL, contentType: String = "charset=utf-8", configure: (ReadStream) throws -> Void = { _ in },
        done: @escaping @Sendable (_ payload: [UInt8], Answer) -> Void
    ) throws {
        let payload = Array(#"{"test-data-key" : "test-data-value"}"#.utf8)
        var request = try HTTPRequest(method: .post, url: url)
        request.body = payload
        try request.fields.set(contentType, for: .contentType)
        let stream = ReadStream(request: request)
        try configure(stream)
        stream.schedule(on: .currentRunLoop)
        // The payload is the client's context: it lives as long as the closure.
        stream.setClient([.hasBytesAvailable, .errorOccurred, .endEncountered]) { stream, event in
            done(payload, readStreamCallBack(stream, event))
        }
        try stream.open()  // the scheduled stream is kept alive until it is closed
    }

    /// The callback: reads everything, and combines head and body in one response.
    ///
    /// The tutorial does the same for all events, and in an error event uses the body of a message that does not exist.
    static func readStreamCallBack(_ stream: ReadStream, _ event: StreamEvent) -> Answer {
        defer { stream.close() }
        do throws(StreamError) {
            if event == .errorOccurred { return Answer(error: stream.error) }
            // Waits for the end, as the tutorial does; a client that must not wait reads once for each event.
            let body = try stream.readAll(limit: 1 << 20)
            var response = stream[.httpResponse]
            response?.body = body
            return Answer(response: response)
        } catch {
            return Answer(error: error)
        }
    }
}
