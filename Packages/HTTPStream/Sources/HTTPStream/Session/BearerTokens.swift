internal import EventLoops
public import FoundationEssentials
internal import HTTPMessage
internal import HostResolver
public import StreamKit

/// The tokens of the scheme Bearer (RFC 6750) for one origin, renewed when its server refuses them.
///
/// ```swift
/// var configuration = HTTPSession.Configuration()
/// configuration.bearerTokens = try BearerTokens(for: api) { refused in
///     try await login.newToken()
/// }
/// ```
///
/// A session asks for a token before its first request to the origin, and sends it with all its requests to the origin. After a 401, it
/// asks again and sends the request once more; if the new token is refused as well, the 401 is the response. Loads that run at the
/// same time share a token, and cause one renewal. A request with an `Authorization` of its own is sent as it is, and one with an empty
/// `Authorization` is sent without a token.
///
/// A token is sent to its origin only, in loads whose URL has that origin: not after a redirect to another host, port or scheme, and not
/// after a redirect from another origin. A load over `http` fails if its route leads through a proxy.
public struct BearerTokens: Sendable {
    /// The origin that receives the tokens.
    public let origin: HTTPOrigin

    /// How long a load waits for the closure. Default 30 seconds; set it to the time that a user needs if the closure asks one.
    ///
    /// The load then fails, and the closure continues: the loads that follow use its token.
    public var timeout: Duration = .seconds(30)

    private let token: @Sendable (_ refused: String?) async throws -> String?

    /// Makes the tokens for an origin.
    ///
    /// - Parameters:
    ///   - url: A URL of the origin; its path is ignored. The scheme is `https`, as RFC 6750 §5.3 requires, or `http` for an address of
    ///     this machine.
    ///   - token: Returns a token; nil if there is none: the session then sends no token, and treats a 401 as usual. The argument is
    ///     the token that the server has refused; nil for the first request. The closure runs in a task of its own, and is not called
    ///     again before it has returned, except after `HTTPSession.forgetCredentials()`. A load fails with its error, or with a time-out
    ///     when the load's own time or ``timeout`` is over; the token is then used by the loads that follow. Requests of the same session
    ///     within the closure, and within the closures that it waits for, are sent without a token. In a detached task or on a queue
    ///     they cannot be recognised: give them an empty `Authorization`, or they wait for the closure until ``timeout``.
    /// - Throws: An error of domain `StreamErrorDomain.http` for a URL that is not permitted.
    public init(
        for url: URL, token: @escaping @Sendable (_ refused: String?) async throws -> String?
    ) throws(StreamError) {
        origin = try HTTPOrigin(url)
        guard origin.isSecureWithoutProxy else {
            throw .badURL("bearer tokens require https.")
        }
        self.token = token
    }

    /// Returns a new token.
    fileprivate func next(after refused: String?) async throws(StreamError) -> String? {
        let next: String?
        do {
            next = try await token(refused)
        } catch let error as StreamError {
            throw error
        } catch is CancellationError {
            throw .cancelled
        } catch {
            throw .noBearerToken("\(error)", underlying: error)
        }
        guard let next, next != refused else { return nil }
        guard BearerTokens.isToken(next) else { throw .noBearerToken("it contains an invalid character") }
        return next
    }

    /// Whether a text has the syntax `b64token` (RFC 6750 §2.1).
    private static func isToken(_ text: String) -> Bool {
        let core = text.utf8.prefix { $0 != UInt8(ascii: "=") }
        return !core.isEmpty && text.utf8.dropFirst(core.count).allSatisfy { $0 == UInt8(ascii: "=") }
            && core.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: "-._~+/".utf8.contains(byte)
                }
            }
    }
}

/// The bearer token of a session.
final class BearerMemory: Sendable {
    private enum Token {
        case none
        case known(String)
        case refused(String)
    }

    private typealias Renewal = OneShot<Result<String?, StreamError>>

    private struct State {
        var token = Token.none
        /// The call of the closure in progress.
        var renewal: Renewal?
    }

    private let tokens: BearerTokens
    private let state = Locked(State())
    /// Admits one load at a time to wait for the closure.
    private let semaphore = AsyncSemaphore(1)

    init(_ tokens: BearerTokens) { self.tokens = tokens }

    /// Returns the token for a request to an origin; nil if the request is sent without one.
    ///
    /// - Throws: the error of the closure; a time-out or a cancellation of this load. The closure continues for the loads that follow.
    func token(for origin: HTTPOrigin, _ options: LoadOptions) async throws(StreamError) -> String? {
        guard origin == tokens.origin, let wait = RunningClosure(tokensOf: self).beginWait() else { return nil }
        defer { wait.end() }
        let end = Moment.now + tokens.timeout
        let deadline = options.deadline.map { min($0, end) } ?? end
        let result: Result<String?, StreamError>
        do throws(WaitError) {
            try await semaphore.wait(until: deadline)
            defer { semaphore.signal() }
            switch next() {
            case .known(let token): return token
            case .pending(let renewal): result = try await renewal.value(until: deadline)
            }
        } catch .timedOut where deadline == end {
            throw .noBearerToken(
                """
                the closure has not returned within \(tokens.timeout). A request that it makes in a detached task or on a queue \
                needs an empty Authorization, because it would wait for the closure
                """)
        } catch .timedOut {
            throw .timedOut("waiting for a bearer token", after: options.timeout)
        } catch {
            throw .cancelled
        }
        return try result.get()
    }

    private enum Next {
        case known(String)
        case pending(Renewal)
    }

    /// Returns the token, or the call of the closure in progress. Begins one if there is neither.
    private func next() -> Next {
        let (next, refused) = state.withLock { state -> (Next?, String?) in
            switch state.token {
            case .known(let token): return (.known(token), nil)
            case .refused(let token): return (state.renewal.map { .pending($0) }, token)
            case .none: return (state.renewal.map { .pending($0) }, nil)
            }
        }
        if let next { return next }
        // Only the load that the semaphore has admitted comes here.
        let renewal = Renewal()
        state.withLock { $0.renewal = renewal }
        Task {
            let result: Result<String?, StreamError> = await RunningClosure(tokensOf: self).run {
                do throws(StreamError) {
                    return .success(try await tokens.next(after: refused))
                } catch {
                    return .failure(error)
                }
            }
            state.withLock { state in
                // Not after forget().
                guard state.renewal === renewal else { return }
                state.renewal = nil
                if case .success(let token?) = result { state.token = .known(token) }
            }
            renewal.provide(result)
        }
        return .pending(renewal)
    }

    /// Records that the server has refused a token.
    func refuse(_ token: String) {
        state.withLock { if case .known(token) = $0.token { $0.token = .refused(token) } }
    }

    func forget() { state.withLock { $0 = State() } }
}

/// The bearer token of one load.
struct BearerUse {
    /// The token that the last request was sent with.
    private(set) var token: String?
    private var isRenewed = false
    private let memory: BearerMemory?

    /// - Parameter memory: The token of the session; nil if the load sends none.
    init(_ memory: BearerMemory?) { self.memory = memory }

    /// Puts the token on a request, unless it has an `Authorization` of its own.
    mutating func sign(
        _ request: inout HTTPRequest, to origin: HTTPOrigin, _ options: LoadOptions
    ) async throws(StreamError) {
        token = nil
        guard let memory, !request.fields.contains(.authorization) else { return }
        token = try await memory.token(for: origin, options)
        // The token has been checked.
        if let token { try? request.fields.set("Bearer \(token)", for: .authorization) }
    }

    /// Records that the server has refused the token. Returns whether there is another one, once per load.
    mutating func renew(for origin: HTTPOrigin, _ options: LoadOptions) async throws(StreamError) -> Bool {
        guard let memory, let token else { return false }
        memory.refuse(token)
        if isRenewed { return false }
        isRenewed = true
        return try await memory.token(for: origin, options) != nil
    }
}
