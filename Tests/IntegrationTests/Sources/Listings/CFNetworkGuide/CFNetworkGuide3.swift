public import Foundation
public import NetKit

extension CFNetworkGuide {
    /// HTTP messages, and streams for requests.
    public enum Chapter3 {
        /// 3-1: makes a request and serialises it.
        ///
        /// The guide gives a body object to a function that takes a string; here neither can stand for the other.
        public static func listing1(_ url: URL, body: String) throws(HTTPMessageError) -> [UInt8] {
            var request = try HTTPRequest(method: .get, url: url)
            request.body = Array(body.utf8)
            try request.fields.set("Dreams", for: "X-My-Favorite-Field")
            return request.serialized()
        }

        /// 3-2: lets a request go. Messages are values: there is nothing to release, and a copy is independent.
        public static func listing2(_ request: inout HTTPRequest?) {
            request = nil
        }

        /// 3-3: takes received bytes apart, however they are cut; nil until the head is complete.
        public static func listing3(
            _ message: inout AnyHTTPMessage, _ data: ArraySlice<UInt8>
        ) throws(HTTPMessageError) -> HTTPRequest? {
            try message.append(data)
            return message.isHeaderComplete ? message.request : nil
        }

        /// 3-4: sends a request by opening a stream; what is read from it is the body of the answer.
        ///
        /// The guide waits for a "header complete" event, which there is none of: the head is there with the first bytes, or
        /// with the end. `response()` waits for it.
        public static func listing4(_ url: URL, body: [UInt8]) throws -> ReadStream {
            var request = try HTTPRequest(method: .post, url: url)
            request.body = body
            try request.fields.set("text/plain", for: .contentType)
            let stream = ReadStream(request: request)
            try stream.open()
            return stream
        }

        /// 3-5: asks again, following redirects. That can be set before opening only, so the stream is made again.
        ///
        /// The guide calls 301 an error. It is an answer like others, and the stream has none.
        public static func listing5(_ stream: ReadStream, _ request: HTTPRequest) throws(StreamError) -> ReadStream {
            stream.close()
            let again = ReadStream(request: request)
            try again.set(.httpFollowsRedirects, to: true)
            try again.open()
            return again
        }
    }
}
