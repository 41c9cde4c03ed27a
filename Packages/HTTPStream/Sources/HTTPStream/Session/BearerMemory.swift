internal import EventLoops
internal import FoundationEssentials
internal import HTTPMessage
internal import StreamKit

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
        guard origin == tokens.origin, let wait = RunningClosure(of: self).beginWait() else { return nil }
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
            let result: Result<String?, StreamError> = await RunningClosure(of: self).run {
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
