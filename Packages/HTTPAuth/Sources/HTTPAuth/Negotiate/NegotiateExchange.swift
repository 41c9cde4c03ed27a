/// One Negotiate exchange, shared by the copies of its scheme. Its steps run on threads that may block.
///
/// A GSSAPI context may be used by one thread at a time. The lock is held for a whole step. A scheme never has two
/// steps running, unless the previous one was abandoned at its time limit.
final class NegotiateExchange: @unchecked Sendable {
    // Safe to share: the machine is accessed in `withLock` only, and was passed in as `sending`.
    private let machine: Locked<SPNEGOMachine>

    init(_ mechanisms: sending [any SecurityMechanism]) {
        machine = Locked(SPNEGOMachine(mechanisms))
    }

    /// Returns the first token.
    func start() throws(HTTPAuthError) -> BlockingWork.Output {
        try machine.withLock { machine throws(HTTPAuthError) in
            let token = try machine.start()
            return BlockingWork.Output(bytes: token, isComplete: false)
        }
    }

    /// Processes the server's token and returns the next one; empty if there is none.
    func receive(_ token: [UInt8]) throws(HTTPAuthError) -> BlockingWork.Output {
        try machine.withLock { machine throws(HTTPAuthError) in
            let answer = try machine.receive(token)
            return BlockingWork.Output(bytes: answer ?? [], isComplete: machine.isComplete)
        }
    }

    /// Whether the server has proven its identity.
    var isServerProven: Bool { machine.withLock { $0.isServerProven } }
}
