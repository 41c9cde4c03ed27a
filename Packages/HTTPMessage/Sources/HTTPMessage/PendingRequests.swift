internal import Glibc

/// The requests of one connection whose responses are still to come, shared by the parser and the writer of the connection.
///
/// The end of a response depends on the method of its request: a response to `HEAD` has no body, whatever its fields say. A parser
/// or writer of requests records each method, and the writer or parser of responses takes it, so that
/// ``MessageParser/expectResponse(to:)`` is not needed. An intermediary has one value for each of its two connections:
///
/// ```swift
/// let (ofClient, ofServer) = (PendingRequests(), PendingRequests())
/// // From the client to the server:
/// var requestParser = MessageParser(.request, pending: ofClient)
/// var requestWriter = MessageWriter(pending: ofServer)
/// // From the server to the client, in another task:
/// var responseParser = MessageParser(.response, pending: ofServer)
/// var responseWriter = MessageWriter(pending: ofClient)
/// ```
///
/// The two directions of a connection may be used by different tasks.
public final class PendingRequests: @unchecked Sendable {
    // Unchecked: the methods are accessed only while the mutex is locked.

    /// The maximum number of requests without a response.
    ///
    /// A parser of requests throws ``HTTPMessageError/Code/tooManyPendingRequests`` at the next one: a client that never reads its
    /// responses would otherwise use more and more memory.
    public let maximumCount: Int

    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private var methods: [HTTPMethod] = []

    /// Makes a value for a new connection.
    ///
    /// - Parameter maximumCount: The maximum number of requests without a response.
    public init(maximumCount: Int = 1000) {
        self.maximumCount = maximumCount
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// The number of requests without a response.
    public var count: Int { withMethods { $0.count } }

    /// The method of the oldest request, whose response is next; nil without one.
    var first: HTTPMethod? { withMethods { $0.first } }

    /// Records a request.
    func append(_ request: HTTPRequest, fault: HTTPMessageError.Fault) throws(HTTPMessageError) {
        // Other methods do not change the framing, and a name can be long.
        let method: HTTPMethod = request.hasMethod("HEAD") ? .head : request.hasMethod("CONNECT") ? .connect : .get
        let isRecorded = withMethods { methods in
            guard methods.count < maximumCount else { return false }
            methods.append(method)
            return true
        }
        guard isRecorded else { throw HTTPMessageError(.tooManyPendingRequests, fault: fault) }
    }

    /// Removes the oldest request, whose final response has begun.
    func removeFirst() {
        withMethods { if !$0.isEmpty { $0.removeFirst() } }
    }

    private func withMethods<Result>(_ body: (inout [HTTPMethod]) -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body(&methods)
    }
}
