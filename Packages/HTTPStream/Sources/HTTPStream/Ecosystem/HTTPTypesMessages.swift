#if HTTPTypes
internal import FoundationEssentials
internal import HTTPMessage
public import HTTPTypes
public import StreamKit

extension HTTPSession {
    /// Sends a request of apple/swift-http-types and reads the whole response.
    ///
    /// ```swift
    /// let (response, body) = try await session.load(
    ///     HTTPRequest(method: .get, scheme: "https", authority: "www.example.org", path: "/"))
    /// ```
    ///
    /// - Parameters:
    ///   - request: The request, with a scheme, an authority and a path.
    ///   - body: The body of the request.
    ///   - limit: The maximum number of bytes of the response body; a longer one is an error.
    ///   - timeout: The time limit of this load; nil for ``HTTPOptions/totalTimeout``.
    /// - Returns: The head of the response, and its body.
    /// - Throws: The error of the load; an error of domain `StreamErrorDomain.http` for a message that the other type cannot
    ///   represent.
    public func load(
        _ request: HTTPTypes.HTTPRequest, body: HTTPBody? = nil, limit: Int = 16 << 20, within timeout: Duration? = nil
    ) async throws(StreamError) -> (response: HTTPTypes.HTTPResponse, body: [UInt8]) {
        let response = try await load(
            HTTPMessage.HTTPRequest(loading: request), body: body, limit: limit, within: timeout)
        do throws(HTTPMessageError) {
            return (try HTTPTypes.HTTPResponse(response), response.body)
        } catch {
            throw StreamError(error)
        }
    }

    /// Sends a request of apple/swift-http-types and returns the head of the final response, and the stream of its body. Read the
    /// stream to its end, or close it.
    ///
    /// - Parameters:
    ///   - request: The request, with a scheme, an authority and a path.
    ///   - body: The body of the request.
    ///   - timeout: The time limit of this load, including the body; nil for ``HTTPOptions/totalTimeout``.
    /// - Returns: The head of the response, and the stream of its body.
    /// - Throws: As ``load(_:body:limit:within:)``.
    public func open(
        _ request: HTTPTypes.HTTPRequest, body: HTTPBody? = nil, within timeout: Duration? = nil
    ) async throws(StreamError) -> (response: HTTPTypes.HTTPResponse, stream: ReadStream) {
        let stream = try await open(HTTPMessage.HTTPRequest(loading: request), body: body, within: timeout)
        let response = try await stream.response()
        do throws(HTTPMessageError) {
            return (try HTTPTypes.HTTPResponse(response), stream)
        } catch {
            stream.close()
            throw StreamError(error)
        }
    }
}

extension HTTPServerExchange {
    /// Returns the head of the request with the types of apple/swift-http-types.
    ///
    /// - Throws: An error of domain `StreamErrorDomain.http` for a request that those types cannot represent.
    public func httpTypesRequest() throws(StreamError) -> HTTPTypes.HTTPRequest {
        do throws(HTTPMessageError) {
            return try HTTPTypes.HTTPRequest(request, scheme: tlsInformation == nil ? "http" : "https")
        } catch {
            throw StreamError(error)
        }
    }

    /// Sends a response of apple/swift-http-types, and its body.
    ///
    /// - Parameters:
    ///   - response: The head; `Content-Length`, `Date` and `Connection` are added.
    ///   - body: The body, which is not sent for a `HEAD` request, a 204 or a 304.
    /// - Throws: As ``respond(_:fields:body:)``.
    public func respond(_ response: HTTPTypes.HTTPResponse, body: [UInt8] = []) async throws(StreamError) {
        var whole = try HTTPMessage.HTTPResponse(sending: response)
        whole.body = body
        try await respond(whole)
    }

    /// Begins a response of apple/swift-http-types, whose body follows piece by piece.
    ///
    /// - Parameters:
    ///   - response: The head.
    ///   - length: The length of the body; nil if it is unknown.
    /// - Throws: As ``respond(_:fields:body:)``.
    public func begin(_ response: HTTPTypes.HTTPResponse, length: Int64? = nil) async throws(StreamError) {
        try await begin(HTTPMessage.HTTPResponse(sending: response), length: length)
    }
}

extension HTTPMessage.HTTPRequest {
    /// Makes the request for a load: with the URL that the parts of the other request make up.
    fileprivate init(loading request: HTTPTypes.HTTPRequest) throws(StreamError) {
        do throws(HTTPMessageError) {
            let same = try Self(request)  // validates all parts
            guard let scheme = request.scheme, let authority = request.authority, let path = request.path,
                let url = URL(string: "\(scheme)://\(authority)\(path)")
            else { throw HTTPMessageError(.invalidTarget, fault: .caller) }
            try self.init(method: same.method, url: url)
            for field in same.fields where field.name != .host {
                try fields.append(rawValue: field.rawValue, for: field.name)
            }
        } catch {
            throw StreamError(error)
        }
    }
}

extension HTTPMessage.HTTPResponse {
    fileprivate init(sending response: HTTPTypes.HTTPResponse) throws(StreamError) {
        do throws(HTTPMessageError) { try self.init(response) } catch { throw StreamError(error) }
    }
}
#endif
