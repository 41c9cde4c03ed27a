internal import BenchmarkRows
internal import FoundationEssentials
internal import NetKit

let httpRows = [
    requests, requestsAsync, session, bareRequests, bareRequestsAsync, secureRequests, secureRequestsAsync, secureRead,
    secureReadAsync, secureServing, bareSecureRequests, bareSecureRead,
]

/// The request for the URL from the command line.
func makeRequest(_ arguments: Arguments) throws -> HTTPRequest {
    guard let url = URL(string: arguments.text("url")) else { stop("url= is not a URL") }
    return try HTTPRequest(method: .get, url: url)
}

/// A stream for the request, on a connection of the pool if one is idle.
func openStream(for request: HTTPRequest, in pool: HTTPConnectionPool) throws -> ReadStream {
    let stream = ReadStream(request: request, pool: pool)
    try stream.open()
    return stream
}
