public import Foundation
public import NetKit

extension CFNetworkGuide {
    /// HTTP messages, and streams for requests.
    public enum Chapter3 {
        /// 3-1: makes a request and serialises it.
        ///
        /// The guide passes a body object to a function that takes a string; here the types prevent that.
        public static func listing1(_ url: URL, body: String) throws(HTTPMessageError) -> [UInt8] {
            var request = try HTTPRequest(method: .get, url: url)
            request.body = Array(body.utf8)
            try request.fields.set("Dreams", for: "X-My-Favorite-Field")
            return request.serialized()
        }

        /// 3-2: releases a request. Messages are values: there is nothing to release, and a copy is independent.
        public static func listing2(_ request: inout HTTPRequest?) {
            request = nil
        }

        /// 3-3: parses received bytes, in pieces of any size; nil until the head is complete.
        public static func listing3(
            _ message: inout AnyHTTPMessage, _ data: ArraySlice<UInt8>
        ) throws(HTTPMessageError) -> HTTPRequest? {
            try message.append(data)
            return message.isHeaderComplete ? message.request : nil
        }

        /// 3-4: sends a request by opening a stream; the bytes read from it are the body of the response.
        ///
        /// The guide waits for a "header complete" event, which does not exist: the head is available with the first bytes or the
        /// end. `response()` waits for it.
        public static func listing4(_ url: URL, body: [UInt8]) throws -> ReadStream {
            var request = try HTTPRequest(method: .post, url: url)
            request.body = body
            try request.fields.set("text/plain", for: .contentType)
            let stream = ReadStream(request: request)
            try stream.open()
            return stream
        }

        /// 3-5: repeats the request, following redirects. That can be set only before opening, so a new stream is made.
        ///
        /// The guide calls 301 an error. It is an ordinary response, and the stream has no error.
        public static func listing5(_ stream: ReadStream, _ request: HTTPRequest) throws(StreamError) -> ReadStream {
            stream.close()
            let again = ReadStream(request: request)
            try again.set(.http(\.followsRedirects), to: true)
            try again.open()
            return again
        }
    }
}
